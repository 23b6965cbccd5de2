#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// A whole regular file mapped into memory; unmapped when its owner goes. The file itself is never changed: a write
// through private_bytes() gives this process its own copy of the page. The pages are those of the file, so nobody may
// shorten it meanwhile; a file replaced by AtomicFile stays mapped as it was.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // IoError if it cannot be opened or is no regular file
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> private_bytes() { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// A file written under a temporary name in the same folder, synced, and renamed over `path` by commit(). Without
// commit() the temporary file is removed and `path` stays as it was. Every failure is an IoError with the path and the
// reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// The right to write in a folder, held by one process at a time and given back when its owner goes or the process ends,
// however it ends. It is an advisory lock on the hidden file `.lock` of the folder, which stays there.
class FolderLock {
 public:
  // IoError, naming the folder, if another process holds it or the file cannot be made.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int descriptor_ = -1;
};

// The content of a regular file; IoError if it is missing, unreadable or longer than `max_bytes`.
std::string read_file(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{1} << 32);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& to);
// Renames a file or folder over `to` (a folder only over nothing or an empty folder) and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
// Creates a folder and those above it, where missing.
void make_folders(const std::filesystem::path& folder);
// Makes the entries of a folder durable (fsync of the folder itself), after files were created or renamed in it.
void sync_folder(const std::filesystem::path& folder);

}  // namespace weft
