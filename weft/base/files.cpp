#include "weft/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <source_location>
#include <system_error>
#include <utility>

#include "weft/base/error.h"

namespace weft {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(std::string_view operation, const fs::path& path, int error,
                              std::source_location where = std::source_location::current()) {
  throw IoError(fmt::format("cannot {} {}: {}", operation, path.string(), std::system_category().message(error)),
                where);
}

// Closes a descriptor when it goes out of scope, whatever is thrown.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

// Non-blocking, because opening a named pipe would wait for a writer before its kind can be seen.
class RegularFile {
 public:
  explicit RegularFile(const fs::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.get() < 0) fail_system("open", path, errno);
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) fail_system("inspect", path, errno);
    if (S_ISDIR(status.st_mode)) fail_system("read", path, EISDIR);
    if (!S_ISREG(status.st_mode)) fail<IoError>("cannot read {}: it is not a regular file", path.string());
    size_ = static_cast<uint64_t>(status.st_size);
  }
  int descriptor() const { return file_.get(); }
  uint64_t size() const { return size_; }

 private:
  Descriptor file_;
  uint64_t size_ = 0;
};

size_t read_some(int descriptor, std::span<char> buffer, const fs::path& path) {
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) fail_system("read", path, errno);
  }
}

// Next to the target, hidden, and different for every process and every file of a process.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<uint64_t> counter{0};
  return path.parent_path() / fmt::format(".{}.{}-{}.tmp", path.filename().string(), ::getpid(), counter++);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

MappedFile::MappedFile(const fs::path& path) {
  const RegularFile file(path);
  if (file.size() == 0) return;  // an empty mapping is not allowed
  void* address =
      ::mmap(nullptr, file.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
  if (address == MAP_FAILED) fail_system("map", path, errno);
  bytes_ = {static_cast<std::byte*>(address), file.size()};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path), temporary_(temporary_name(path)) {
  if (!path.has_filename()) fail<IoError>("cannot write \"{}\": it names no file", path.string());
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail_system("write", path, EISDIR);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_system("write", path, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  require(descriptor_ >= 0, "atomic file: write() after commit()");
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  require(descriptor_ >= 0, "atomic file: commit() twice");
  if (::fsync(descriptor_) != 0) fail_system("sync", path_, errno);
  // The destructor removes the temporary file while the descriptor is set, so it stays set until the rename is done.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system("write", path_, errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_system("close", path_, errno);
  sync_folder(folder_of(path_));
}

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path file = folder / ".lock";
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_system("write", file, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  if (error != EWOULDBLOCK) fail_system("lock", file, error);
  fail<IoError>("{}: another process is writing in this folder; wait for it or stop it", folder.string());
}

FolderLock::~FolderLock() { ::close(descriptor_); }

std::string read_file(const fs::path& path, uint64_t max_bytes) {
  const RegularFile file(path);
  const auto too_long = [&](uint64_t size) {
    fail<IoError>("cannot read {}: {} bytes are more than the {} allowed here", path.string(), size, max_bytes);
  };
  if (file.size() > max_bytes) too_long(file.size());
  // One byte more than the size: the end of the file is then seen without growing the buffer.
  std::string content(file.size() + 1, '\0');
  size_t length = 0;
  while (const size_t count = read_some(file.descriptor(), std::span(content).subspan(length), path)) {
    length += count;
    if (length > max_bytes) too_long(length);
    if (length == content.size()) content.resize(content.size() + std::max<size_t>(content.size(), 4096));
  }
  content.resize(length);
  return content;
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void copy_file_atomically(const fs::path& from, const fs::path& to) {
  const MappedFile source(from);
  AtomicFile target(to);
  target.write(source.bytes());
  target.commit();
}

void rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    fail_system(fmt::format("rename {} to", from.string()), to, errno);
  }
  sync_folder(folder_of(to));
  if (folder_of(from) != folder_of(to)) sync_folder(folder_of(from));
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_system("create the folder", folder, error.value());
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) fail_system("open the folder", folder, errno);
  // Some file systems have nothing to sync in a folder and say EINVAL; their entries are as durable as they get.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail_system("sync the folder", folder, errno);
}

}  // namespace weft
