#include <kolam/core/data/download.hpp>
#include <kolam/core/data/fashion_mnist.hpp>
#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace kolam::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* remedy =
    "apt-get install dataset-fashion-mnist, or give a folder with --data";
constexpr std::int64_t fashion_mnist_classes = 10;

struct Names {
  const char* images;
  const char* labels;
};

Names names_of(Split split) {
  return split == Split::train ? Names{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}
                               : Names{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
}

/// A file where it is, with or without `.gz`; empty if it is not there.
fs::path find_file(const fs::path& folder, const std::string& name) {
  std::error_code ignored;  // a folder that cannot be read has no files for us
  for (const char* ending : {".gz", ""})
    if (fs::path path = folder / (name + ending); fs::exists(path, ignored)) return path;
  return {};
}

struct Paths {
  fs::path images;
  fs::path labels;

  bool complete() const { return !images.empty() && !labels.empty(); }
};

Paths find_pair(const fs::path& folder, Split split) {
  const Names names = names_of(split);
  return {find_file(folder, names.images), find_file(folder, names.labels)};
}

/// Loads from a folder that the user named; nothing else will do.
Dataset load_named(const fs::path& folder, Split split, const char* origin) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw DataError(
        fmt::format("{} names {}, which is not a folder; expected the folder of the data set; "
                    "correct it, or {}",
                    origin, quote(folder), remedy));
  const Paths paths = find_pair(folder, split);
  if (paths.complete()) return load_idx_pair(paths.images, paths.labels);
  const Names names = names_of(split);
  throw DataError(
      fmt::format("{} names {}, which has no {}, expected {} and {}, with or without .gz; put them "
                  "there, or {}",
                  origin, quote(folder), paths.images.empty() ? names.images : names.labels,
                  names.images, names.labels, remedy));
}

std::optional<fs::path> environment_path(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

/// As the XDG base directory specification has it: a relative XDG_CACHE_HOME is ignored.
std::optional<fs::path> cache_folder() {
  const std::optional<fs::path> cache = environment_path("XDG_CACHE_HOME");
  if (cache && cache->is_absolute()) return *cache / "kolam" / "fashion-mnist";
  if (const auto home = environment_path("HOME")) return *home / ".cache/kolam/fashion-mnist";
  return std::nullopt;
}

std::vector<fs::path> shared_folders(const Location& location) {
  std::vector<fs::path> folders = location.system_folders;
  if (const auto cache = cache_folder()) folders.insert(folders.begin(), *cache);
  return folders;
}

[[noreturn]] void fail_to_find(Split split, const Location& location, const std::string& reason) {
  std::string places;
  for (const fs::path& folder : shared_folders(location)) places += ", " + quote(folder);
  throw DataError(fmt::format(
      "no {}: looked in --data (not given), KOLAM_DATA (not set){}, and the download failed ({}); "
      "{}",
      names_of(split).images, places, reason, remedy));
}

/// Downloads what the cache lacks of a split and says where everything is.
Paths complete_cache(const fs::path& cache, Split split, const Location& location) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  const Names names = names_of(split);
  const RemoteSplit remote = location.download(split);
  Paths paths = find_pair(cache, split);
  if (paths.labels.empty()) {
    paths.labels = cache / (std::string(names.labels) + ".gz");
    download(remote.labels.address, paths.labels,
             {.md5 = remote.labels.md5, .max_bytes = mebibyte});
  }
  if (paths.images.empty()) {
    paths.images = cache / (std::string(names.images) + ".gz");
    download(remote.images.address, paths.images,
             {.md5 = remote.images.md5, .max_bytes = 64 * mebibyte});
  }
  return paths;
}

Paths download_pair(Split split, const Location& location) {
  const std::optional<fs::path> cache = cache_folder();
  if (!cache) fail_to_find(split, location, "neither XDG_CACHE_HOME nor HOME names a cache folder");
  try {
    return complete_cache(*cache, split, location);
  } catch (const DataError& error) {
    fail_to_find(split, location, error.what());
  }
}

}  // namespace

RemoteSplit fashion_mnist_download(Split split) {
  const std::string address = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
  const Names names = names_of(split);
  const auto remote = [&](const char* name, const char* md5) {
    return RemoteFile{address + name + ".gz", md5};
  };
  if (split == Split::train)
    return {remote(names.images, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            remote(names.labels, "25c81989df183df01b3e8a0aad5dffbe")};
  return {remote(names.images, "bef4ecab320f06d8554ea6380940ec79"),
          remote(names.labels, "bb300cfdad3c16e7a12a480ee83cd310")};
}

Dataset load_fashion_mnist(Split split, const Location& location) {
  if (location.folder) return load_named(*location.folder, split, "--data");
  if (const auto folder = environment_path("KOLAM_DATA"))
    return load_named(*folder, split, "KOLAM_DATA");
  for (const fs::path& folder : shared_folders(location)) {
    const Paths paths = find_pair(folder, split);
    if (paths.complete()) return load_idx_pair(paths.images, paths.labels, fashion_mnist_classes);
  }
  const Paths paths = download_pair(split, location);
  return load_idx_pair(paths.images, paths.labels, fashion_mnist_classes);
}

}  // namespace kolam::data
