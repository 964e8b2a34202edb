/// \file
/// Finds and loads Fashion-MNIST (Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747): 60000 training
/// and 10000 test images of 28 x 28 bytes in 10 classes, or any other IDX data set that the user
/// stores under the same file names.
///
/// The files are looked for in this order:
/// 1. the folder given (`--data`);
/// 2. the folder named by KOLAM_DATA (an empty value counts as unset);
/// 3. the cache folder, `$XDG_CACHE_HOME/kolam/fashion-mnist` or `~/.cache/kolam/fashion-mnist`;
/// 4. the folders of Debian's package;
/// 5. a download into the cache folder.
///
/// Places 1 and 2 are the user's word: if files are missing there, that is an error, and no further
/// place is tried. A file is found with and without `.gz` at its end. Where both are, the one with
/// `.gz` is read, because gzip carries a checksum; whether it is compressed, its content decides.
#pragma once

#include <kolam/core/data/dataset.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kolam::data {

enum class Split : std::uint8_t { train, test };

/// A file at a download address, and the MD5 that it must have.
struct RemoteFile {
  std::string address;
  std::string md5;
};

/// The images and the labels of one split.
struct RemoteSplit {
  RemoteFile images;
  RemoteFile labels;
};

/// The publisher's files. Debian's package compresses the same content anew, so its files have
/// other MD5s: they belong to the download alone.
RemoteSplit fashion_mnist_download(Split split);

/// Where to look; the defaults are right for everything but tests and `--data`.
struct Location {
  /// `--data`.
  std::optional<std::filesystem::path> folder = std::nullopt;
  std::vector<std::filesystem::path> system_folders = {"/usr/share/datasets/fashion-mnist",
                                                       "/usr/local/share/datasets/fashion-mnist"};
  RemoteSplit (*download)(Split) = fashion_mnist_download;
};

/// \throws DataError if no place has the files (one line: where it looked and what to do), or if
///   the files found are damaged or do not belong together.
Dataset load_fashion_mnist(Split split, const Location& location = {});

}  // namespace kolam::data
