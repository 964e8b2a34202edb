#include <kolam/core/data/fashion_mnist.hpp>

#include "environment.hpp"
#include "files.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace kolam::data::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* train_images = "train-images-idx3-ubyte";
constexpr const char* train_labels = "train-labels-idx1-ubyte";

void write_pair(const TemporaryFolder& folder, std::uint32_t n, const std::string& ending = "") {
  folder.write(train_images + ending, idx_images(n));
  folder.write(train_labels + ending, idx_labels(n));
}

/// A publisher whose files lie in the folder that a variable of the environment names.
RemoteSplit local_publisher(Split) {
  const std::string folder = std::getenv("KOLAM_TEST_PUBLISHER");
  const auto remote = [&](const char* name, const Bytes& bytes) {
    return RemoteFile{"file://" + folder + "/" + name, md5_of(gzip(bytes))};
  };
  return {remote("images", idx_images(5)), remote("labels", idx_labels(5))};
}

/// Each place is a folder of its own, and nothing outside them is looked at.
class FashionMnist : public testing::Test {
 protected:
  Dataset load(const std::optional<fs::path>& folder = std::nullopt) const {
    return load_fashion_mnist(
        Split::train,
        {.folder = folder, .system_folders = {debian.path()}, .download = local_publisher});
  }

  TemporaryFolder named;
  TemporaryFolder variable;
  TemporaryFolder cache;
  TemporaryFolder debian;
  TemporaryFolder publisher;
  EnvironmentVariable no_data{"KOLAM_DATA", nullptr};
  EnvironmentVariable cache_home{"XDG_CACHE_HOME", cache.path().c_str()};
  EnvironmentVariable published{"KOLAM_TEST_PUBLISHER", publisher.path().c_str()};
  const fs::path cache_folder = cache.path() / "kolam" / "fashion-mnist";
};

TEST_F(FashionMnist, IsLookedForInTheDocumentedOrder) {
  publisher.write("images", gzip(idx_images(5)));
  publisher.write("labels", gzip(idx_labels(5)));
  EXPECT_EQ(load().count(), 5);
  write_pair(debian, 4);
  EXPECT_EQ(load().count(), 5) << "the cache comes before the system's folders";
  fs::remove_all(cache_folder);
  EXPECT_EQ(load().count(), 4);
  write_pair(variable, 2);
  const EnvironmentVariable data("KOLAM_DATA", variable.path().c_str());
  EXPECT_EQ(load().count(), 2);
  write_pair(named, 1);
  EXPECT_EQ(load(named.path()).count(), 1);
}

TEST_F(FashionMnist, FallsBackToTheCacheFolderOfTheHomeFolder) {
  const EnvironmentVariable relative("XDG_CACHE_HOME", "relative");
  const EnvironmentVariable home("HOME", cache.path().c_str());
  fs::create_directories(cache.path() / ".cache" / "kolam" / "fashion-mnist");
  cache.write(std::string(".cache/kolam/fashion-mnist/") + train_images, idx_images(3));
  cache.write(std::string(".cache/kolam/fashion-mnist/") + train_labels, idx_labels(3));
  EXPECT_EQ(load().count(), 3);
}

TEST_F(FashionMnist, IsAnErrorIfTheNamedFolderLacksAFile) {
  write_pair(debian, 4);
  named.write(train_images, idx_images(3));
  EXPECT_THAT(refusal([&] { load(named.path()); }),
              AllOf(HasSubstr("--data"), HasSubstr(named.path().string()),
                    HasSubstr(std::string("has no ") + train_labels)));
  const EnvironmentVariable data("KOLAM_DATA", variable.path().c_str());
  EXPECT_THAT(refusal([&] { load(); }),
              AllOf(HasSubstr("KOLAM_DATA"), HasSubstr(variable.path().string())));
}

TEST_F(FashionMnist, IsAnErrorIfTheNamedFolderIsNone) {
  write_pair(debian, 4);
  for (const fs::path& folder : {fs::path(""), named.path() / "absent", named.write("file", {})})
    EXPECT_THAT(refusal([&] { load(folder); }), HasSubstr("which is not a folder"));
}

TEST_F(FashionMnist, IsNotReplacedByTheNextPlaceWhenItIsDamaged) {
  write_pair(debian, 4);
  fs::create_directories(cache_folder);
  cache.write(std::string("kolam/fashion-mnist/") + train_images, idx_labels(3));
  cache.write(std::string("kolam/fashion-mnist/") + train_labels, idx_labels(3));
  EXPECT_THAT(refusal([&] { load(); }), HasSubstr("look swapped"));
}

TEST_F(FashionMnist, IsReadFromTheFilesThatEndInGzIfBothAreThere) {
  write_pair(named, 1);
  write_pair(named, 2, ".gz");
  EXPECT_EQ(load(named.path()).count(), 2);
}

TEST_F(FashionMnist, HasTenClassesButOtherDataHasItsOwn) {
  write_pair(debian, 3);
  write_pair(named, 3);
  EXPECT_EQ(load().class_count(), 10);
  EXPECT_EQ(load(named.path()).class_count(), 3);
}

TEST_F(FashionMnist, IsDownloadedOnceAndOnlyWhatIsMissing) {
  publisher.write("images", gzip(idx_images(5)));
  fs::create_directories(cache_folder);
  cache.write(std::string("kolam/fashion-mnist/") + train_labels, idx_labels(5));
  EXPECT_EQ(load().count(), 5);
  fs::remove(publisher.path() / "images");
  EXPECT_EQ(load().count(), 5);
}

TEST_F(FashionMnist, SaysWhereItLookedAndWhatToDoIfItIsNowhere) {
  EXPECT_THAT(refusal([&] { load(); }),
              AllOf(HasSubstr("KOLAM_DATA (not set)"), HasSubstr(cache_folder.string()),
                    HasSubstr(debian.path().string()), HasSubstr("the download failed"),
                    HasSubstr("apt-get install dataset-fashion-mnist")));
}

TEST_F(FashionMnist, IsNotKeptIfTheDownloadHasAnotherMd5) {
  publisher.write("images", gzip(idx_images(6)));
  publisher.write("labels", gzip(idx_labels(6)));
  EXPECT_THAT(refusal([&] { load(); }), HasSubstr("has MD5"));
  EXPECT_TRUE(fs::is_empty(cache_folder));
}

TEST(RealFashionMnist, HasAsManyExamplesPerClassAsPublished) {
  const Location location;
  if (!fs::is_directory(location.system_folders.front())) GTEST_SKIP() << "not installed";
  const auto expect_split = [&](Split split, std::int64_t per_class) {
    const Dataset dataset = load_fashion_mnist(split, {.folder = location.system_folders.front()});
    EXPECT_EQ(dataset.image_extents(), (Extents{10 * per_class, 28, 28}));
    EXPECT_EQ(dataset.class_count(), 10);
    for (std::uint8_t label = 0; label < 10; ++label)
      EXPECT_EQ(std::count(dataset.labels().begin(), dataset.labels().end(), label), per_class);
  };
  expect_split(Split::train, 6000);
  expect_split(Split::test, 1000);
}

}  // namespace
}  // namespace kolam::data::test
