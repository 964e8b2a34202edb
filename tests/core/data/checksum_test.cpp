#include <kolam/core/data/checksum.hpp>

#include "files.hpp"

#include <string_view>

namespace kolam::data::test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// FIPS 180-4 examples and RFC 1321, appendix A.5.
constexpr const char* sha256_of_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Digest, GivesThePublishedSha256Values) {
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(bytes_of("abc")), sha256_of_abc);
}

TEST(Digest, GivesThePublishedMd5Values) {
  EXPECT_EQ(md5({}), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5(bytes_of("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(Digest, OfPartsIsTheDigestOfTheWhole) {
  Digest digest;
  digest.update(bytes_of("a"));
  digest.update({});
  EXPECT_NE(digest.hex(), sha256_of_abc);
  digest.update(bytes_of("bc"));
  EXPECT_EQ(digest.hex(), sha256_of_abc);
  EXPECT_EQ(digest.hex(), sha256_of_abc);
}

TEST(Digest, OfAFileIsTheDigestOfItsBytes) {
  const TemporaryFolder folder;
  const Bytes bytes = noise(200001);
  EXPECT_EQ(md5_of_file(folder.write("file", bytes)), md5_of(bytes));
  EXPECT_EQ(md5_of_file(folder.write("empty", {})), md5({}));
  refusal([&] { md5_of_file(folder.path()); });
}

}  // namespace
}  // namespace kolam::data::test
