#include <kolam/core/data/checksum.hpp>
#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <vector>

namespace kolam::data {

namespace {

void require(int result, const char* step) {
  if (result != 1)
    throw DataError(
        fmt::format("OpenSSL refused to {} a digest, expected it to work; check whether "
                    "this OpenSSL allows SHA-256 and MD5 (FIPS rules forbid MD5)",
                    step));
}

std::string digest_of(DigestAlgorithm algorithm, std::span<const std::byte> bytes) {
  Digest digest(algorithm);
  digest.update(bytes);
  return digest.hex();
}

}  // namespace

void Digest::Release::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Digest::Digest(DigestAlgorithm algorithm) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* method = algorithm == DigestAlgorithm::sha256 ? EVP_sha256() : EVP_md5();
  require(context_ ? EVP_DigestInit_ex(context_.get(), method, nullptr) : 0, "start");
}

void Digest::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), "extend");
}

std::string Digest::hex() const {
  const std::unique_ptr<evp_md_ctx_st, Release> copy(EVP_MD_CTX_new());
  require(copy ? EVP_MD_CTX_copy_ex(copy.get(), context_.get()) : 0, "copy");
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(copy.get(), value.data(), &length), "finish");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", value[i]);
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  return digest_of(DigestAlgorithm::sha256, bytes);
}

std::string md5(std::span<const std::byte> bytes) {
  return digest_of(DigestAlgorithm::md5, bytes);
}

std::string md5_of_file(const std::filesystem::path& path) {
  RegularFile file(path);
  Digest digest(DigestAlgorithm::md5);
  std::vector<std::uint8_t> buffer(65536);
  for (std::size_t count = file.read(buffer); count > 0; count = file.read(buffer))
    digest.update(std::as_bytes(std::span(buffer).first(count)));
  return digest.hex();
}

}  // namespace kolam::data
