#include <kolam/core/io/atomic_file.hpp>

#include "../data/files.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

namespace kolam::io {
namespace {

namespace fs = std::filesystem;
using data::test::refusal;
using data::test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// While it lives, files cannot grow beyond `bytes`: a disk that becomes full half way.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class Atomic : public testing::Test {
 protected:
  TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
};

TEST_F(Atomic, WritesANewFileThatTheUmaskAllows) {
  write_file(path, "new");
  EXPECT_EQ(content_of(path), "new");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(path).permissions()), 0666 & ~mask);
}

TEST_F(Atomic, WritesPiecesInOrderAndAnEmptyFile) {
  AtomicFile file(path);
  file.write(bytes_of("one "));
  file.write({});
  file.write(bytes_of("two"));
  file.commit();
  EXPECT_EQ(content_of(path), "one two");
  write_file(path, "");
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(content_of(path), "");
}

TEST_F(Atomic, KeepsTheOldFileUntilCommit) {
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write(bytes_of("half of the ne"));
    EXPECT_EQ(content_of(path), "old");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST_F(Atomic, LeavesNothingWithoutCommit) {
  {
    AtomicFile file(path);
    file.write(bytes_of("half"));
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(folder.names().size(), 1U);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(Atomic, KeepsPermissionBits) {
  for (const mode_t mode : {0600U, 0640U, 0444U, 0777U}) {
    write_file(path, "old");
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    write_file(path, "new");
    EXPECT_EQ(static_cast<mode_t>(fs::status(path).permissions()), mode);
  }
}

TEST_F(Atomic, NeverOpensATemporaryFileWiderThanTheFileItReplaces) {
  write_file(path, "secret");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const AtomicFile file(path);
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(static_cast<mode_t>(entry.status().permissions()), 0600U) << entry.path();
}

TEST_F(Atomic, ReplacesTheTargetOfALinkAndKeepsTheLink) {
  fs::create_directory(folder.path() / "elsewhere");
  const fs::path target = folder.path() / "elsewhere" / "target";
  write_file(target, "old");
  fs::create_symlink("elsewhere/target", folder.path() / "second");
  fs::create_symlink(folder.path() / "second", path);
  write_file(path, "new");
  EXPECT_EQ(content_of(target), "new");
  EXPECT_FALSE(fs::is_symlink(target));
  EXPECT_EQ(fs::read_symlink(path), folder.path() / "second");
  EXPECT_EQ(fs::read_symlink(folder.path() / "second"), "elsewhere/target");
  EXPECT_THAT(folder.names(), ElementsAre("elsewhere", "file", "second"));
}

TEST_F(Atomic, MakesTheTargetOfALinkToNothing) {
  fs::create_symlink("target", path);
  write_file(path, "new");
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(content_of(folder.path() / "target"), "new");
}

TEST_F(Atomic, RefusesLinksInACircle) {
  fs::create_symlink("second", path);
  fs::create_symlink("file", folder.path() / "second");
  EXPECT_THAT(refusal([&] { write_file(path, "new"); }),
              AllOf(HasSubstr(path.string()), HasSubstr("symbolic links")));
}

TEST_F(Atomic, ReportsAFullDiskAndKeepsTheOldFile) {
  write_file(path, "old");
  const std::string large(1U << 16, 'x');
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message = refusal([&] { write_file(path, large); });
  }
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write '" + path.string()),
                             HasSubstr("File too large"), HasSubstr("free some space")));
  EXPECT_EQ(content_of(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST_F(Atomic, IsClosedAfterAFailureAndAfterCommit) {
  AtomicFile failed(path);
  {
    const FileSizeLimit limit(4);
    EXPECT_THAT(refusal([&] { failed.write(bytes_of("too long")); }), HasSubstr("too large"));
  }
  EXPECT_THAT(refusal([&] { failed.commit(); }), HasSubstr("no longer being written"));
  EXPECT_THAT(folder.names(), IsEmpty());

  AtomicFile committed(path);
  committed.commit();
  EXPECT_THAT(refusal([&] { committed.write(bytes_of("more")); }), HasSubstr("no longer"));
  EXPECT_THAT(refusal([&] { committed.commit(); }), HasSubstr("no longer"));
}

TEST_F(Atomic, RefusesADeviceAndLeavesItInPlace) {
  fs::create_symlink("/dev/full", path);
  for (const fs::path& device : {fs::path("/dev/full"), path}) {
    EXPECT_THAT(refusal([&] { write_file(device, "new"); }),
                AllOf(HasSubstr(device.string()), HasSubstr("a device")));
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_THAT(folder.names(), ElementsAre("file"));
  for (const auto& entry : fs::directory_iterator("/dev"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".kolam-")) << entry.path();
}

TEST_F(Atomic, RefusesAPipeWithoutWaiting) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { write_file(path, "new"); }), HasSubstr("pipe"));
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(Atomic, RefusesFoldersAndMissingFolders) {
  const auto refuse = [](const fs::path& bad) { return refusal([&] { write_file(bad, "new"); }); };
  EXPECT_THAT(refuse(folder.path()), HasSubstr("a folder"));
  EXPECT_THAT(refuse(folder.path() / ""), HasSubstr("Is a directory"));
  EXPECT_THAT(refuse(""), HasSubstr("No such file"));
  EXPECT_THAT(refuse(folder.path() / "missing" / "file"),
              AllOf(HasSubstr("missing/file"), HasSubstr("No such file"), HasSubstr("make the")));
  write_file(path, "old");
  EXPECT_THAT(refuse(path / "inside"), HasSubstr("Not a directory"));
  EXPECT_THAT(refuse(folder.path() / std::string(300, 'n')), HasSubstr("name too long"));
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST_F(Atomic, RefusesAReadOnlyFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  write_file(path, "old");
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const std::string message = refusal([&] { write_file(path, "new"); });
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  EXPECT_THAT(message, AllOf(HasSubstr(path.string()), HasSubstr("Permission denied")));
  EXPECT_EQ(content_of(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST_F(Atomic, ReportsThatTheFolderIsGoneAtCommit) {
  const fs::path inner = folder.path() / "inner";
  fs::create_directory(inner);
  AtomicFile file(inner / "file");
  file.write(bytes_of("new"));
  fs::remove_all(inner);
  EXPECT_THAT(refusal([&] { file.commit(); }),
              AllOf(HasSubstr("rename"), HasSubstr("No such file")));
}

TEST_F(Atomic, GivesWritersInOneFolderDifferentTemporaryFiles) {
  AtomicFile first(path);
  AtomicFile second(path);
  first.write(bytes_of("first"));
  second.write(bytes_of("second"));
  second.commit();
  EXPECT_EQ(content_of(path), "second");
  first.commit();
  EXPECT_EQ(content_of(path), "first");
  EXPECT_THAT(folder.names(), ElementsAre("file"));
}

TEST_F(Atomic, ShowsReadersTheOldOrTheNewContent) {
  const std::string a(100'000, 'a');
  const std::string b(50'000, 'b');
  write_file(path, a);
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) write_file(path, i % 2 == 0 ? b : a);
    is_done = true;
  });
  int halves = 0;
  while (!is_done) {
    const std::string seen = content_of(path);
    halves += seen == a || seen == b ? 0 : 1;
  }
  writer.join();
  EXPECT_EQ(halves, 0);
}

}  // namespace
}  // namespace kolam::io
