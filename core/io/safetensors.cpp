#include <kolam/core/data/regular_file.hpp>
#include <kolam/core/error.hpp>
#include <kolam/core/io/atomic_file.hpp>
#include <kolam/core/io/safetensors.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace kolam::io {

namespace {

namespace fs = std::filesystem;
using data::one_line;
using data::quote;
using Json = nlohmann::ordered_json;
using Metadata = std::map<std::string, std::string>;
using Positions = std::map<std::string, std::size_t, std::less<>>;

static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t largest_header = 100'000'000;  // the limit of the reference reader
constexpr std::size_t alignment = 64;                  // of the first element
constexpr std::string_view metadata_key = "__metadata__";

constexpr std::array<std::pair<std::string_view, ScalarType>, 5> element_types{{
    {"F32", ScalarType::f32},
    {"F64", ScalarType::f64},
    {"I32", ScalarType::i32},
    {"I64", ScalarType::i64},
    {"U8", ScalarType::u8},
}};

std::string_view format_name(ScalarType type) {
  for (const auto& [name, candidate] : element_types)
    if (candidate == type) return name;
  return "?";
}

/// A name from a file as it appears in messages: a damaged header may hold a very long one.
std::string shown(std::string_view name) {
  constexpr std::size_t longest = 80;
  const bool is_long = name.size() > longest;
  return fmt::format("'{}{}'", one_line(name.substr(0, longest)), is_long ? "..." : "");
}

[[noreturn]] void fail(const fs::path& path, std::string_view what) {
  throw DataError(fmt::format("{} {}; copy or save the file again", quote(path), what));
}

/// Takes the header apart while it is parsed, so that a hostile one costs no more memory than the
/// tensors that it names. Throws DataError at the first thing that does not belong there.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderParser(const fs::path& path) : path_(path) {}

  std::vector<TensorInfo> tensors;
  Metadata metadata;

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a truth value"); }
  bool number_integer(number_integer_t value) override {
    unexpected(fmt::format("the negative number {}", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    unexpected(fmt::format("the number {}, which is no 64-bit integer,", text.substr(0, 40)));
  }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t& text) override;
  bool start_object(std::size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(path_, fmt::format("has a header that is not JSON at its byte {}", position));
  }

 private:
  enum class Place { outside, header, metadata, tensor, shape, offsets };

  [[noreturn]] void unexpected(std::string_view what) const {
    fail(path_, fmt::format("has {} in its header at tensor {}, field {}, expected "
                            "{{\"dtype\": text, \"shape\": [integers], \"data_offsets\": [begin, "
                            "end]}} for each tensor and texts in {}",
                            what, shown(name_), shown(field_), metadata_key));
  }

  const fs::path& path_;
  Place place_ = Place::outside;
  bool has_metadata_ = false;
  std::string name_;
  std::string field_;
  std::set<std::string> fields_;  // of the current tensor
  std::vector<std::int64_t> offsets_;
};

bool HeaderParser::number_unsigned(number_unsigned_t value) {
  if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    unexpected(fmt::format("the number {}, which is 2^63 or more,", value));
  const auto number = static_cast<std::int64_t>(value);
  if (place_ == Place::shape) {
    Extents& extents = tensors.back().extents;
    if (extents.dimensions() == Extents::max_dimensions)
      fail(path_, fmt::format("has a tensor {} of more than {} dimensions, expected at most that",
                              shown(name_), Extents::max_dimensions));
    extents.append(number);
  } else if (place_ == Place::offsets && offsets_.size() < 2) {
    offsets_.push_back(number);
  } else {
    unexpected(fmt::format("the number {}", value));
  }
  return true;
}

bool HeaderParser::string(string_t& text) {
  if (place_ == Place::metadata) {
    if (!metadata.emplace(field_, std::move(text)).second) unexpected("the same key twice");
    return true;
  }
  if (place_ != Place::tensor || field_ != "dtype") unexpected("a text");
  for (const auto& [name, type] : element_types) {
    if (name != text) continue;
    tensors.back().type = type;
    return true;
  }
  throw DataError(
      fmt::format("{} has a tensor {} of element type {}, expected F32, F64, I32, I64 or U8; "
                  "convert the tensor and save the file again",
                  quote(path_), shown(name_), shown(text)));
}

bool HeaderParser::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::header;
  } else if (place_ == Place::header && name_ == metadata_key) {
    if (std::exchange(has_metadata_, true)) unexpected("the same key twice");
    place_ = Place::metadata;
  } else if (place_ == Place::header) {
    place_ = Place::tensor;
    tensors.emplace_back().name = name_;
    fields_.clear();
    offsets_.clear();
  } else {
    unexpected("an object");
  }
  return true;
}

bool HeaderParser::key(string_t& name) {
  std::string& current = place_ == Place::header ? name_ : field_;
  current = std::move(name);
  if (place_ == Place::header) field_.clear();
  if (place_ != Place::tensor) return true;
  if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
    unexpected("an unknown field");
  if (!fields_.insert(field_).second) unexpected("the same field twice");
  return true;
}

bool HeaderParser::end_object() {
  if (place_ == Place::tensor) {
    field_.clear();
    if (fields_.size() != 3) unexpected(fmt::format("{} of 3 fields", fields_.size()));
    tensors.back().begin = offsets_[0];
    tensors.back().end = offsets_[1];
  }
  place_ = place_ == Place::header ? Place::outside : Place::header;
  return true;
}

bool HeaderParser::start_array(std::size_t) {
  if (place_ != Place::tensor || field_ == "dtype") unexpected("an array");
  place_ = field_ == "shape" ? Place::shape : Place::offsets;
  return true;
}

bool HeaderParser::end_array() {
  if (place_ == Place::offsets && offsets_.size() != 2)
    unexpected(fmt::format("{} offsets", offsets_.size()));
  place_ = Place::tensor;
  return true;
}

/// Reads the length and the header text, each checked against the file's size first.
std::string read_header(data::RegularFile& file) {
  std::array<std::uint8_t, length_bytes> stored{};
  if (file.read(stored) < stored.size())
    fail(file.path(), fmt::format("has {} bytes, expected at least the 8 bytes of a safetensors "
                                  "file's header length",
                                  file.bytes()));
  const auto length = std::bit_cast<std::uint64_t>(stored);
  if (length > largest_header)
    fail(file.path(), fmt::format("claims a header of {} bytes, expected at most {} in a "
                                  "safetensors file",
                                  length, largest_header));
  const auto room = static_cast<std::uint64_t>(file.bytes()) - length_bytes;
  if (length > room)
    fail(file.path(), fmt::format("claims a header of {} bytes, found {}", length, room));
  std::string header(length, '\0');
  const std::span text(reinterpret_cast<std::uint8_t*>(header.data()), header.size());
  if (file.read(text) < text.size()) fail(file.path(), "became shorter while it was read");
  return header;
}

void parse(const fs::path& path, const std::string& header, HeaderParser& parser) {
  if (!header.starts_with('{'))
    fail(path, "has a header that does not start with '{', expected a safetensors file");
  // The parser takes a zero byte for the end and would ignore what follows.
  if (const std::size_t zero = header.find('\0'); zero != std::string::npos)
    fail(path, fmt::format("has a zero byte in its header at byte {}, expected JSON", zero));
  nlohmann::json::sax_parse(header, &parser);
}

void check_size(const fs::path& path, const TensorInfo& tensor) {
  const auto element = static_cast<std::int64_t>(size_of(tensor.type));
  const std::string place =
      fmt::format("has a tensor {} of shape {} and type {} at bytes {} to {}", shown(tensor.name),
                  to_string(tensor.extents), format_name(tensor.type), tensor.begin, tensor.end);
  std::int64_t expected = 0;
  try {
    expected = tensor.extents.bytes(element);
  } catch (const ShapeError&) {
    fail(path, place + ", expected a size below 2^63");
  }
  if (tensor.begin > tensor.end) fail(path, place + ", expected the begin before the end");
  if (tensor.end - tensor.begin != expected)
    fail(path, fmt::format("{} ({} bytes), expected {} bytes for the shape", place,
                           tensor.end - tensor.begin, expected));
}

void sort_by_place(std::vector<TensorInfo>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
}

/// Refuses wrong sizes, gaps and overlaps. Returns the end of the last tensor.
std::int64_t check_layout(const fs::path& path, std::span<const TensorInfo> tensors) {
  for (const TensorInfo& tensor : tensors) check_size(path, tensor);
  std::int64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != end)
      fail(path, fmt::format("has a tensor {} that starts at byte {}, expected {}: {}",
                             shown(tensor.name), tensor.begin, end,
                             tensor.begin > end ? "bytes before it belong to no tensor"
                                                : "it overlaps the tensor before it"));
    end = tensor.end;
  }
  return end;
}

template <class Tensors>
Positions positions_of(const fs::path& path, const Tensors& tensors) {
  Positions positions;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!positions.emplace(tensors[i].name, i).second)
      throw DataError(
          fmt::format("{} has two tensors named {}, expected different names; rename one of them",
                      quote(path), shown(tensors[i].name)));
  return positions;
}

std::int64_t bytes_of(const TensorView& tensor) {
  return tensor.extents.bytes(static_cast<std::int64_t>(size_of(tensor.type)));
}

Json header_json(std::span<const TensorView> tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  std::int64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    std::int64_t end = 0;
    if (__builtin_add_overflow(begin, bytes_of(tensor), &end))
      throw ShapeError(fmt::format("the tensors up to {} have 2^63 bytes or more; write fewer",
                                   shown(tensor.name)));
    Json shape = Json::array();
    for (int i = 0; i < tensor.extents.dimensions(); ++i) shape.push_back(tensor.extents[i]);
    header[tensor.name] = {{"dtype", format_name(tensor.type)},
                           {"shape", std::move(shape)},
                           {"data_offsets", {begin, end}}};
    begin = end;
  }
  return header;
}

/// The JSON text, with spaces at its end so that the first element is aligned.
std::string header_text(const fs::path& path, std::span<const TensorView> tensors,
                        const Metadata& metadata) {
  std::string text;
  try {
    text = header_json(tensors, metadata).dump();
  } catch (const nlohmann::json::type_error&) {
    throw DataError(
        fmt::format("{} cannot be written: a tensor's name or its metadata is not UTF-8; use UTF-8",
                    quote(path)));
  }
  const std::size_t used = (length_bytes + text.size()) % alignment;
  text.append((alignment - used) % alignment, ' ');
  if (text.size() > largest_header)
    throw DataError(fmt::format(
        "{} cannot be written: its header has {} bytes, expected at most {}; write fewer tensors "
        "or less metadata",
        quote(path), text.size(), largest_header));
  return text;
}

void check_tensors(const fs::path& path, std::span<const TensorView> tensors) {
  positions_of(path, tensors);
  for (const TensorView& tensor : tensors) {
    if (tensor.name == metadata_key)
      throw DataError(
          fmt::format("{} cannot hold a tensor named {}, the format reserves the name; "
                      "rename the tensor",
                      quote(path), metadata_key));
    if (tensor.data == nullptr && bytes_of(tensor) != 0)
      throw DataError(
          fmt::format("{} cannot be written: tensor {} of shape {} has no data; give "
                      "its elements",
                      quote(path), shown(tensor.name), to_string(tensor.extents)));
  }
}

}  // namespace

void write_safetensors(const fs::path& path, std::span<const TensorView> tensors,
                       const Metadata& metadata) {
  check_tensors(path, tensors);
  const std::string header = header_text(path, tensors, metadata);
  const auto length =
      std::bit_cast<std::array<std::byte, length_bytes>>(static_cast<std::uint64_t>(header.size()));
  AtomicFile file(path);
  file.write(length);
  file.write(std::as_bytes(std::span(header)));
  for (const TensorView& tensor : tensors)
    file.write(
        {static_cast<const std::byte*>(tensor.data), static_cast<std::size_t>(bytes_of(tensor))});
  file.commit();
}

Safetensors Safetensors::read(const fs::path& path) {
  data::RegularFile file(path);
  const std::string header = read_header(file);
  HeaderParser parser(path);
  parse(path, header, parser);

  Safetensors content;
  content.path_ = path;
  content.tensors_ = std::move(parser.tensors);
  content.metadata_ = std::move(parser.metadata);
  sort_by_place(content.tensors_);
  content.positions_ = positions_of(path, content.tensors_);
  const auto end = static_cast<std::uint64_t>(check_layout(path, content.tensors_));
  // Unsigned, because the last offset may be close to 2^63.
  const std::uint64_t expected = length_bytes + header.size() + end;
  if (expected != static_cast<std::uint64_t>(file.bytes()))
    fail(path, fmt::format("has {} bytes, expected {} ({} of header and {} of elements)",
                           file.bytes(), expected, length_bytes + header.size(), end));

  content.bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(end);
  if (file.read({content.bytes_.get(), end}) < end) fail(path, "became shorter while it was read");
  return content;
}

std::span<const std::byte> Safetensors::data(std::string_view name) const {
  const auto found = positions_.find(name);
  if (found == positions_.end())
    throw DataError(fmt::format("{} has no tensor named {}, found {} others; ask for one of them",
                                quote(path_), shown(name), tensors_.size()));
  const TensorInfo& tensor = tensors_[found->second];
  return std::as_bytes(std::span(bytes_.get() + tensor.begin, bytes_.get() + tensor.end));
}

}  // namespace kolam::io
