#include <kolam/core/data/dataset.hpp>
#include <kolam/core/data/idx.hpp>

#include "files.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

namespace kolam::data::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Idx : public testing::Test {
 protected:
  std::string refuse_images(const Bytes& bytes) {
    return refuse(folder.write("images", bytes), IdxKind::images);
  }
  std::string refuse(const std::filesystem::path& path, IdxKind kind) {
    const std::string message = refusal([&] { read_idx(path, kind); });
    EXPECT_THAT(message, HasSubstr(path.string()));
    return message;
  }
  Bytes read_images(const Bytes& bytes) {
    return read_idx(folder.write("images", bytes), IdxKind::images).bytes;
  }

  TemporaryFolder folder;
  const Bytes images = idx_images(3);
  const Bytes content{images.begin() + 16, images.end()};
};

TEST_F(Idx, ReadsExtentsAndBytesOfImagesAndLabels) {
  const IdxFile image_file = read_idx(folder.write("images", images), IdxKind::images);
  EXPECT_EQ(image_file.extents, (Extents{3, 28, 28}));
  EXPECT_EQ(image_file.bytes, content);
  const IdxFile label_file = read_idx(folder.write("labels", idx_labels(3)), IdxKind::labels);
  EXPECT_EQ(label_file.extents, (Extents{3}));
  EXPECT_EQ(label_file.bytes, (Bytes{0, 1, 2}));
}

TEST_F(Idx, DecidesByContentWhetherAFileIsCompressed) {
  EXPECT_EQ(read_idx(folder.write("compressed", gzip(images)), IdxKind::images).bytes, content);
  EXPECT_EQ(read_idx(folder.write("raw.gz", images), IdxKind::images).bytes, content);
}

TEST_F(Idx, RefusesTruncatedRawFiles) {
  for (std::size_t length = 0; length < images.size(); length += length < 24 ? 1 : 97)
    refuse_images(Bytes(images.begin(), images.begin() + static_cast<std::ptrdiff_t>(length)));
}

TEST_F(Idx, RefusesEveryTruncationOfAGzipFile) {
  const Bytes compressed = gzip(images);
  for (std::size_t length = 0; length < compressed.size(); ++length) {
    const auto end = compressed.begin() + static_cast<std::ptrdiff_t>(length);
    const std::string message = refuse_images(Bytes(compressed.begin(), end));
    const char* expected = length == 0   ? "is an empty file"
                           : length == 1 ? "ends within its IDX header"
                                         : "is cut short";
    EXPECT_THAT(message, HasSubstr(expected)) << length;
  }
}

TEST_F(Idx, RefusesEveryFlippedBitOfTheGzipTrailer) {
  const Bytes compressed = gzip(images);
  for (std::size_t bit = 0; bit < 64; ++bit) {
    Bytes damaged = compressed;
    damaged[damaged.size() - 8 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_THAT(refuse_images(damaged),
                HasSubstr(bit < 32 ? "incorrect data check" : "incorrect length check"));
  }
}

TEST_F(Idx, NeverReturnsOtherContentForAFlippedBitAnywhereInAGzipFile) {
  const Bytes compressed = gzip(images);
  for (std::size_t bit = 0; bit < compressed.size() * 8; bit += 3) {
    Bytes damaged = compressed;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    try {
      EXPECT_EQ(read_images(damaged), content) << "bit " << bit;
    } catch (const DataError&) {
      SUCCEED();  // only the time stamp and similar fields may change unnoticed
    }
  }
}

TEST_F(Idx, RefusesBytesAfterTheGzipData) {
  const Bytes compressed = gzip(images);
  EXPECT_THAT(refuse_images(compressed + noise(10)), HasSubstr("other bytes after its gzip data"));
  EXPECT_THAT(refuse_images(compressed + Bytes(10, 0)),
              HasSubstr("other bytes after its gzip data"));
  EXPECT_THAT(refuse_images(compressed + Bytes(10, 0x1f)), HasSubstr("gzip member 2"));
}

TEST_F(Idx, AcceptsConcatenatedGzipMembersWholeOnly) {
  const auto middle = images.begin() + 1000;
  const Bytes first = gzip(Bytes(images.begin(), middle));
  const Bytes second = gzip(Bytes(middle, images.end()));
  EXPECT_EQ(read_images(first + second), content);
  EXPECT_EQ(read_images(first + second + gzip({})), content);
  for (std::size_t length = 0; length < second.size(); ++length) {
    const auto end = second.begin() + static_cast<std::ptrdiff_t>(length);
    refuse_images(first + Bytes(second.begin(), end));
  }
}

TEST_F(Idx, RefusesTwoDataSetsInOneGzipFile) {
  EXPECT_THAT(refuse_images(gzip(images) + gzip(images)),
              AllOf(HasSubstr("= 2352 bytes"), HasSubstr("found 4720")));
}

TEST_F(Idx, RefusesAPayloadShorterOrLongerThanTheHeaderClaims) {
  const Bytes shorter(images.begin(), images.end() - 1);
  const Bytes longer = images + Bytes{7};
  for (const bool compressed : {false, true}) {
    EXPECT_THAT(refuse_images(compressed ? gzip(shorter) : shorter),
                AllOf(HasSubstr("3 x 28 x 28 = 2352 bytes"), HasSubstr("found 2351")));
    EXPECT_THAT(refuse_images(compressed ? gzip(longer) : longer),
                AllOf(HasSubstr("3 x 28 x 28 = 2352 bytes"), HasSubstr("found 2353")));
  }
}

TEST_F(Idx, CountsExcessOfAGzipFileUpToABound) {
  EXPECT_THAT(refuse_images(gzip(images + Bytes(std::size_t{4} << 20, 0))),
              HasSubstr("found at least 1050928"));
}

TEST_F(Idx, SaysThatImagesAndLabelsLookSwapped) {
  const auto image_path = folder.write("images", images);
  const auto label_path = folder.write("labels", idx_labels(3));
  EXPECT_THAT(refuse(label_path, IdxKind::images),
              AllOf(HasSubstr("magic number 2049 (labels), expected 2051 (images)"),
                    HasSubstr("these two look swapped")));
  EXPECT_THAT(refuse(image_path, IdxKind::labels),
              AllOf(HasSubstr("magic number 2051 (images), expected 2049 (labels)"),
                    HasSubstr("these two look swapped")));
  EXPECT_THAT(refusal([&] { load_idx_pair(label_path, image_path); }),
              HasSubstr("these two look swapped"));
}

TEST_F(Idx, RefusesImagesAndLabelsOfDifferentCount) {
  const auto image_path = folder.write("images", images);
  const auto label_path = folder.write("labels", idx_labels(2));
  EXPECT_THAT(refusal([&] { load_idx_pair(image_path, label_path); }),
              AllOf(HasSubstr("has 3 images"), HasSubstr("has 2 labels")));
}

TEST_F(Idx, RefusesWrongElementTypesAndDimensionCounts) {
  const auto with_magic = [&](std::uint32_t magic) {
    return refuse_images(big_endian({magic, 3, 28, 28}) + content);
  };
  EXPECT_THAT(with_magic(0x00000D03), HasSubstr("element type 0x0D (float)"));
  EXPECT_THAT(with_magic(0x00000003), HasSubstr("element type 0x00 (unknown)"));
  for (const unsigned dimensions : {0U, 2U, 4U, 255U})
    EXPECT_THAT(with_magic(0x00000800 + dimensions),
                HasSubstr("dimension count " + std::to_string(dimensions) + ", expected 3"));
  EXPECT_THAT(with_magic(0x89504E47), HasSubstr("starts with 0x89504E47"));
}

TEST_F(Idx, RefusesDataSetsWithoutExamplesOrPixels) {
  EXPECT_THAT(refuse_images(big_endian({0x803, 0, 28, 28})), HasSubstr("empty data set"));
  EXPECT_THAT(refuse_images(big_endian({0x803, 3, 0, 28})), HasSubstr("without pixels"));
  EXPECT_THAT(refuse_images(big_endian({0x803, 3, 28, 0})), HasSubstr("without pixels"));
  EXPECT_THAT(refuse(folder.write("labels", big_endian({0x801, 0})), IdxKind::labels),
              HasSubstr("empty data set"));
}

TEST_F(Idx, RefusesWhatIsNotARegularFile) {
  EXPECT_THAT(refuse(folder.path(), IdxKind::images), HasSubstr("is a folder"));
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refuse(pipe, IdxKind::images), HasSubstr("is a pipe"));
  EXPECT_THAT(refuse("/dev/zero", IdxKind::images), HasSubstr("is a device"));
  EXPECT_THAT(refuse(folder.path() / "absent", IdxKind::images), HasSubstr("No such file"));
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_THAT(refuse(folder.path() / "loop", IdxKind::images), HasSubstr("symbolic links"));
  EXPECT_THAT(refuse(folder.write("empty", {}), IdxKind::images), HasSubstr("is an empty file"));
}

TEST_F(Idx, NamesAFileWithALineBreakOnOneLine) {
  EXPECT_THAT(refusal([&] { read_idx(folder.path() / "two\nlines", IdxKind::images); }),
              HasSubstr("two?lines"));
}

TEST_F(Idx, ReadsALargeHighlyCompressedDataSet) {
  constexpr std::uint32_t n = 52 << 20;  // above what is read on the header's word alone
  const auto path = folder.write("large.gz", gzip(big_endian({0x801, n}) + Bytes(n, 5)));
  EXPECT_EQ(read_idx(path, IdxKind::labels).bytes, Bytes(n, 5));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool address_space_can_be_limited = false;
#else
constexpr bool address_space_can_be_limited = true;
#endif

/// Reads with the address space of `ulimit -v 300000` and ends with 3 after a clean refusal.
[[noreturn]] void read_images_in_little_memory(const std::filesystem::path& path) {
  constexpr rlim_t limit = rlim_t{300000} * 1024;
  const rlimit limits{limit, limit};
  if (setrlimit(RLIMIT_AS, &limits) != 0) std::_Exit(4);
  try {
    read_idx(path, IdxKind::images);
  } catch (const DataError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(3);
  } catch (...) {
    std::_Exit(5);
  }
  std::_Exit(0);
}

struct HostileCase {
  const char* name;
  std::vector<std::uint32_t> dimensions;
  const char* message;
};

TEST(HostileIdx, IsRefusedBeforeMemoryIsTaken) {
  if (!address_space_can_be_limited) GTEST_SKIP() << "sanitizers need the address space";
  const TemporaryFolder folder;
  const std::vector<HostileCase> cases = {
      {"wraps_64_bits", {1U << 16, 1U << 24, 1U << 24}, "more than 2.63"},
      {"wraps_32_bits", {1U << 16, 1U << 8, 1U << 8}, "= 4294967296 bytes after its header"},
      {"largest_count", {0xFFFFFFFFU, 28, 28}, "= 3367254359280 bytes after its header"},
      {"all_largest", {0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU}, "more than 2.63"},
  };
  for (const HostileCase& hostile : cases) {
    const Bytes header = big_endian({0x803}) + big_endian(hostile.dimensions);
    const auto raw = folder.write(hostile.name, header);
    EXPECT_EXIT(read_images_in_little_memory(raw), testing::ExitedWithCode(3), hostile.message);
    const auto compressed = folder.write(std::string(hostile.name) + ".gz", gzip(header));
    EXPECT_EXIT(read_images_in_little_memory(compressed), testing::ExitedWithCode(3),
                hostile.message);
  }
}

TEST(HostileIdx, GzipFileWithAPlausibleClaimIsRefusedBeforeMemoryIsTaken) {
  if (!address_space_can_be_limited) GTEST_SKIP() << "sanitizers need the address space";
  const TemporaryFolder folder;
  const auto path = folder.write(
      "plausible.gz", gzip(big_endian({0x803, 1U << 10, 1U << 10, 1U << 10}) + noise(2 << 20)));
  EXPECT_EXIT(read_images_in_little_memory(path), testing::ExitedWithCode(3),
              "= 1073741824 bytes after its header, found 2097152");
}

}  // namespace
}  // namespace kolam::data::test
