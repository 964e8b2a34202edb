/// \file
/// SHA-256 and MD5 through OpenSSL. SHA-256 is for digests of parameters and files; MD5 is there
/// only because the publishers of data sets give it: it detects damage, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace kolam::data {

enum class DigestAlgorithm : std::uint8_t { sha256, md5 };

/// A digest that grows with each `update`. Not for use by several threads at once.
class Digest {
 public:
  /// \throws DataError if this OpenSSL does not offer the algorithm (MD5 under FIPS rules).
  explicit Digest(DigestAlgorithm algorithm = DigestAlgorithm::sha256);

  /// Appends bytes; `std::as_bytes(std::span(values))` makes them from any plain values.
  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes so far in lower-case hexadecimal; more may follow.
  std::string hex() const;

 private:
  struct Release {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Release> context_;
};

/// Hexadecimal SHA-256 (64 characters).
std::string sha256(std::span<const std::byte> bytes);

/// Hexadecimal MD5 (32 characters).
std::string md5(std::span<const std::byte> bytes);

/// Hexadecimal MD5 of a file as stored. \throws DataError if it cannot be read.
std::string md5_of_file(const std::filesystem::path& path);

}  // namespace kolam::data
