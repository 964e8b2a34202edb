#include <kolam/core/data/checksum.hpp>
#include <kolam/core/data/download.hpp>

#include "environment.hpp"
#include "files.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace kolam::data::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string md5_of(const Bytes& bytes) {
  return md5(std::as_bytes(std::span(bytes)));
}

/// Listens on a free local port, answers one request with fixed text, and holds the connection open
/// until the client leaves.
class OneAnswerServer {
 public:
  explicit OneAnswerServer(std::string answer, bool hang_up = true)
      : answer_(std::move(answer)), hang_up_(hang_up), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool listens = bind(listener_, generic, length) == 0 && listen(listener_, 1) == 0 &&
                         getsockname(listener_, generic, &length) == 0;
    if (!listens) throw std::runtime_error("no local port to listen on");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswerServer() {
    shutdown(listener_, SHUT_RDWR);  // ends an accept that nobody came for
    thread_.join();
    close(listener_);
  }

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/file"; }

 private:
  void serve() const {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    char request[4096];
    if (recv(connection, request, sizeof request, 0) > 0)
      send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    if (hang_up_) shutdown(connection, SHUT_WR);
    while (recv(connection, request, sizeof request, 0) > 0) {
    }
    close(connection);
  }

  std::string answer_;
  bool hang_up_;
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

class Download : public testing::Test {
 protected:
  std::string refuse(const std::string& address, const DownloadOptions& options) {
    const std::string message = refusal([&] { download(address, destination, options); });
    EXPECT_THAT(target.names(), IsEmpty());
    return message;
  }
  std::string source() { return "file://" + folder.write("source", bytes).string(); }

  EnvironmentVariable no_proxy{"no_proxy", "*"};
  TemporaryFolder folder;
  TemporaryFolder target;
  const std::filesystem::path destination = target.path() / "file.gz";
  const Bytes bytes = noise(100000);
};

TEST_F(Download, LeavesTheVerifiedFileAlone) {
  download(source(), destination, {.md5 = md5_of(bytes)});
  EXPECT_EQ(md5_of_file(destination), md5_of(bytes));
  EXPECT_THAT(target.names(), ElementsAre("file.gz"));
}

TEST_F(Download, MakesMissingFolders) {
  const auto deep = target.path() / "one" / "two" / "file.gz";
  download(source(), deep, {.md5 = md5_of(bytes)});
  EXPECT_EQ(md5_of_file(deep), md5_of(bytes));
}

TEST_F(Download, ReplacesADamagedFile) {
  target.write("file.gz", noise(10));
  download(source(), destination, {.md5 = md5_of(bytes)});
  EXPECT_EQ(md5_of_file(destination), md5_of(bytes));
}

TEST_F(Download, RefusesAnotherMd5AndKeepsTheFormerFile) {
  target.write("file.gz", noise(10));
  EXPECT_THAT(refusal([&] { download(source(), destination, {.md5 = md5_of({})}); }),
              AllOf(HasSubstr("MD5 " + md5_of(bytes)), HasSubstr("expected " + md5_of({}))));
  EXPECT_EQ(md5_of_file(destination), md5_of(noise(10)));
  EXPECT_THAT(target.names(), ElementsAre("file.gz"));
}

TEST_F(Download, RefusesAFileLargerThanTheBound) {
  EXPECT_THAT(refuse(source(), {.md5 = md5_of(bytes), .max_bytes = 99999}),
              HasSubstr("larger than 99999 bytes"));
  download(source(), destination, {.md5 = md5_of(bytes), .max_bytes = 100000});
}

TEST_F(Download, RefusesAnAnswerOfUntoldLengthBeyondTheBound) {
  const OneAnswerServer server("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'));
  EXPECT_THAT(refuse(server.address(), {.md5 = "", .max_bytes = 4999}),
              HasSubstr("larger than 4999 bytes"));
}

TEST_F(Download, FetchesOverHttp) {
  const OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
  download(server.address(), destination, {.md5 = md5_of({'a', 'b', 'c'})});
  EXPECT_EQ(md5_of_file(destination), md5_of({'a', 'b', 'c'}));
}

TEST_F(Download, RefusesAnAnswerThatEndsEarly) {
  const OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc");
  EXPECT_THAT(refuse(server.address(), {.md5 = md5_of({'a', 'b', 'c'})}),
              HasSubstr("cannot download"));
}

TEST_F(Download, RefusesAnErrorPage) {
  const OneAnswerServer server("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(refuse(server.address(), {.md5 = md5_of({'a', 'b', 'c'})}), HasSubstr("404"));
}

TEST_F(Download, DoesNotFollowARedirectToALocalFile) {
  const OneAnswerServer server("HTTP/1.1 302 Found\r\nLocation: " + source() +
                               "\r\nContent-Length: 0\r\n\r\n");
  refuse(server.address(), {.md5 = md5_of(bytes)});
}

TEST_F(Download, GivesUpOnASilentServer) {
  const OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", false);
  EXPECT_THAT(refuse(server.address(), {.md5 = "", .timeout_seconds = 1}), HasSubstr("timed out"));
}

TEST_F(Download, RefusesAnUnreachableHost) {
  EXPECT_THAT(refuse("http://127.0.0.1:1/file", {.md5 = ""}),
              AllOf(HasSubstr("http://127.0.0.1:1/file"), HasSubstr("check the address")));
}

TEST_F(Download, RefusesAddressesOfOtherKinds) {
  for (const char* address : {"", "gopher://127.0.0.1/", "no address", "file:///absent/file"})
    EXPECT_THAT(refuse(address, {.md5 = ""}), HasSubstr("cannot download"));
}

TEST_F(Download, RefusesADestinationThatCannotBeWritten) {
  const auto blocked = folder.write("blocked", {}) / "file.gz";
  EXPECT_THAT(refusal([&] { download(source(), blocked, {.md5 = md5_of(bytes)}); }),
              HasSubstr("cannot write"));
  std::filesystem::create_directory(destination);
  EXPECT_THAT(refusal([&] { download(source(), destination, {.md5 = md5_of(bytes)}); }),
              HasSubstr("cannot write"));
  EXPECT_THAT(target.names(), ElementsAre("file.gz"));
}

}  // namespace
}  // namespace kolam::data::test
