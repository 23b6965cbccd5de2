#include "weft/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing_support::message_of;
using testing_support::TemporaryFolder;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(Files, WrittenTextReadsBack) {
  const TemporaryFolder folder;
  std::string text = "line\n";
  text.resize(100000, '\0');
  for (const std::string& content : {std::string(), std::string("a"), text}) {
    write_file_atomically(folder / "a", content);
    EXPECT_EQ(read_file(folder / "a"), content);
    EXPECT_EQ(text_of(MappedFile(folder / "a")), content);
  }
  EXPECT_EQ(folder.count(), 1u);
}

TEST(Files, RelativeNamesWork) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("plain", "x");
  fs::current_path(before);
  EXPECT_EQ(read_file(folder / "plain"), "x");
}

TEST(AtomicFile, KeepsTheOldFileUntilCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  AtomicFile file(folder / "a");
  file.write("new");
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(folder.count(), 2u);
  file.commit();
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(message_of([&] { file.write("x"); }), "atomic file: write() after commit()");
  EXPECT_EQ(message_of([&] { file.commit(); }), "atomic file: commit() twice");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("half");
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFile, TwoWritersDoNotMix) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  first.write("11");
  second.write("2");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder / "a"), "11");
}

TEST(AtomicFile, FailuresNameThePath) {
  const TemporaryFolder folder;
  const std::string in_missing = (folder / "missing/a").string();
  EXPECT_EQ(message_of([&] { AtomicFile file(in_missing); }),
            "cannot write " + in_missing + ": No such file or directory");
  fs::create_directory(folder / "d");
  EXPECT_EQ(message_of([&] { AtomicFile file(folder / "d"); }),
            "cannot write " + (folder / "d").string() + ": Is a directory");
  EXPECT_EQ(message_of([&] { AtomicFile file(folder / ""); }),
            "cannot write \"" + (folder / "").string() + "\": it names no file");
}

// A limit on file sizes stands for a full disk: the system takes a part and refuses the rest.
TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a").string();
  write_file_atomically(path, "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "cannot write " + path + ": File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(Files, ReadErrorsNamePathAndReason) {
  const TemporaryFolder folder;
  const std::string missing = (folder / "missing").string();
  EXPECT_EQ(message_of([&] { read_file(missing); }), "cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { MappedFile file(missing); }), "cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder.path()); }),
            "cannot read " + folder.path().string() + ": Is a directory");
  write_file_atomically(folder / "long", "12345");
  EXPECT_EQ(message_of([&] { read_file(folder / "long", 4); }),
            "cannot read " + (folder / "long").string() + ": 5 bytes are more than the 4 allowed here");
  EXPECT_EQ(read_file(folder / "long", 5), "12345");
}

TEST(Files, PipesAndDevicesAreRefusedWithoutWaiting) {
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message_of([&] { read_file(pipe); }), "cannot read " + pipe + ": it is not a regular file");
  EXPECT_EQ(message_of([&] { MappedFile file(pipe); }), "cannot read " + pipe + ": it is not a regular file");
  EXPECT_EQ(message_of([&] { read_file("/dev/zero"); }), "cannot read /dev/zero: it is not a regular file");
}

TEST(MappedFile, OutlivesReplacementAndRemoval) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  MappedFile file(folder / "a");
  write_file_atomically(folder / "a", "newer");
  fs::remove(folder / "a");
  const MappedFile moved = std::move(file);
  EXPECT_EQ(text_of(moved), "old");
  EXPECT_TRUE(file.bytes().empty());  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
}

TEST(MappedFile, PrivateWritesDoNotReachTheFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "abc");
  MappedFile file(folder / "a");
  file.private_bytes()[0] = std::byte{'X'};
  EXPECT_EQ(text_of(file), "Xbc");
  EXPECT_EQ(read_file(folder / "a"), "abc");
}

TEST(Files, CopyRenameAndFolders) {
  const TemporaryFolder folder;
  make_folders(folder / "one/two");
  make_folders(folder / "one/two");
  write_file_atomically(folder / "one/a", "x");
  copy_file_atomically(folder / "one/a", folder / "one/two/b");
  EXPECT_EQ(read_file(folder / "one/two/b"), "x");
  rename_durably(folder / "one/two", folder / "three");
  EXPECT_EQ(read_file(folder / "three/b"), "x");
  EXPECT_FALSE(fs::exists(folder / "one/two"));
  sync_folder(folder.path());
  const std::string missing = (folder / "missing").string();
  EXPECT_EQ(message_of([&] { rename_durably(missing, folder / "x"); }),
            "cannot rename " + missing + " to " + (folder / "x").string() + ": No such file or directory");
  EXPECT_EQ(message_of([&] { sync_folder(missing); }),
            "cannot open the folder " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { make_folders(folder / "one/a/b"); }),
            "cannot create the folder " + (folder / "one/a/b").string() + ": Not a directory");
}

TEST(FolderLock, BelongsToOneAtATime) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_EQ(message_of([&] { FolderLock second(folder.path()); }),
              folder.path().string() + ": another process is writing in this folder; wait for it or stop it");
  }
  const FolderLock again(folder.path());
  EXPECT_EQ(message_of([&] { FolderLock lock(folder / "missing"); }),
            "cannot write " + (folder / "missing/.lock").string() + ": No such file or directory");
}

}  // namespace
}  // namespace weft
