#include <kolam/core/io/safetensors.hpp>

#include "../data/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

namespace kolam::io {
namespace {

namespace fs = std::filesystem;
using data::test::Bytes;
using data::test::refusal;
using data::test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Metadata = std::map<std::string, std::string>;

Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

Bytes content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file with this header length, header and data, whether they fit together or not.
Bytes raw_file(std::uint64_t length, std::string_view header, std::size_t data_bytes) {
  Bytes bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes.push_back(static_cast<std::uint8_t>(length >> shift));
  const Bytes text = bytes_of(header);
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.resize(bytes.size() + data_bytes, 7);
  return bytes;
}

/// The header's entry of a tensor.
std::string entry(std::string_view name, std::string_view type, std::string_view shape,
                  std::string_view offsets) {
  std::string text = "\"";
  text.append(name).append("\":{\"dtype\":\"").append(type).append("\",\"shape\":[").append(shape);
  return text.append("],\"data_offsets\":[").append(offsets).append("]}");
}

template <class T>
std::vector<T> elements(const Safetensors& file, std::string_view name) {
  const std::span<const std::byte> bytes = file.data(name);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class SafetensorsFile : public testing::Test {
 protected:
  std::string refuse(const Bytes& bytes) {
    const fs::path damaged = folder.write("damaged", bytes);
    const std::string message = refusal([&] { Safetensors::read(damaged); });
    EXPECT_THAT(message, HasSubstr(damaged.string()));
    EXPECT_LT(message.size(), 600U) << message;
    return message;
  }
  std::string refuse(std::string_view header, std::size_t data_bytes) {
    return refuse(raw_file(header.size(), header, data_bytes));
  }
  std::string refuse_entry(std::string_view text, std::size_t data_bytes) {
    return refuse("{" + std::string(text) + "}", data_bytes);
  }
  Safetensors accept(std::string_view header, std::size_t data_bytes) {
    return Safetensors::read(folder.write("accepted", raw_file(header.size(), header, data_bytes)));
  }
  void write_example() const {
    const std::vector<TensorView> tensors = {
        {"weights", ScalarType::f32, {2, 3}, weights.data()},
        {"mask", ScalarType::u8, {3}, mask.data()},
        {"loss", ScalarType::f64, {}, &loss},
        {"empty", ScalarType::f32, {0, 5}, nullptr},
        {"labels", ScalarType::i32, {2}, labels.data()},
        {"step \"\xC3\xA9\"", ScalarType::i64, {1}, &step},
    };
    write_safetensors(path, tensors, {{"epoch", "3"}, {"quote", "a \"b\"\n\xC3\xA9"}});
  }

  TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const std::vector<float> weights = {1, -2, 3.5F, 4, 5, 6};
  const std::vector<std::uint8_t> mask = {0, 255, 7};
  const double loss = 0.125;
  const std::vector<std::int32_t> labels = {-5, 2147483647};
  const std::int64_t step = -9007199254740993;
};

TEST_F(SafetensorsFile, ReadsBackWhatWasWritten) {
  write_example();
  const Safetensors file = Safetensors::read(path);
  std::vector<std::string> names;
  for (const TensorInfo& tensor : file.tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names,
              ElementsAre("weights", "mask", "loss", "empty", "labels", "step \"\xC3\xA9\""));
  EXPECT_EQ(file.tensors()[0].extents, (Extents{2, 3}));
  EXPECT_EQ(file.tensors()[2].extents, Extents{});
  EXPECT_EQ(file.tensors()[2].type, ScalarType::f64);
  EXPECT_EQ(file.tensors()[3].extents, (Extents{0, 5}));
  EXPECT_EQ(elements<float>(file, "weights"), weights);
  EXPECT_EQ(elements<std::uint8_t>(file, "mask"), mask);
  EXPECT_THAT(elements<double>(file, "loss"), ElementsAre(loss));
  EXPECT_THAT(elements<float>(file, "empty"), IsEmpty());
  EXPECT_EQ(elements<std::int32_t>(file, "labels"), labels);
  EXPECT_THAT(elements<std::int64_t>(file, "step \"\xC3\xA9\""), ElementsAre(step));
  EXPECT_EQ(file.metadata(), (Metadata{{"epoch", "3"}, {"quote", "a \"b\"\n\xC3\xA9"}}));
  EXPECT_THAT(folder.names(), ElementsAre("model.safetensors"));
}

TEST_F(SafetensorsFile, StartsItsElementsAtAMultipleOf64) {
  for (std::size_t length = 1; length < 70; ++length) {
    const std::vector<TensorView> tensors = {
        {std::string(length, 'n'), ScalarType::u8, {3}, mask.data()}};
    write_safetensors(path, tensors);
    EXPECT_EQ(fs::file_size(path) % 64, 3U);
    EXPECT_EQ(elements<std::uint8_t>(Safetensors::read(path), tensors[0].name), mask);
  }
}

TEST_F(SafetensorsFile, WritesTheDocumentedBytes) {
  const std::vector<TensorView> tensors = {{"a", ScalarType::u8, {3}, mask.data()}};
  write_safetensors(path, tensors, {{"k", "v"}});
  std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  header.resize(120, ' ');
  Bytes expected = raw_file(120, header, 0);
  expected.insert(expected.end(), mask.begin(), mask.end());
  EXPECT_EQ(content_of(path), expected);
}

TEST_F(SafetensorsFile, HoldsNoTensorsAtAll) {
  write_safetensors(path, {});
  EXPECT_THAT(Safetensors::read(path).tensors(), IsEmpty());
  EXPECT_THAT(Safetensors::read(path).metadata(), IsEmpty());
  EXPECT_THAT(accept("{}", 0).tensors(), IsEmpty());
  EXPECT_THAT(accept(R"({"__metadata__":{}})", 0).metadata(), IsEmpty());
}

TEST_F(SafetensorsFile, AcceptsAnyOrderOfHeaderEntriesAndFields) {
  const Safetensors file =
      accept("{ " + entry("late", "F32", "1", "3,7") +
                 R"( , "early":{"data_offsets":[0,3],"shape":[1,3],"dtype":"U8"}} )" + "  ",
             7);
  EXPECT_EQ(file.tensors()[0].name, "early");
  EXPECT_EQ(file.data("early").size(), 3U);
  EXPECT_EQ(file.data("late").size(), 4U);
}

TEST_F(SafetensorsFile, RefusesAnUnknownName) {
  write_example();
  const Safetensors file = Safetensors::read(path);
  EXPECT_THAT(refusal([&] { file.data("bias"); }),
              AllOf(HasSubstr(path.string()), HasSubstr("'bias'"), HasSubstr("6 others")));
}

TEST_F(SafetensorsFile, RefusesEveryTruncation) {
  write_example();
  const Bytes whole = content_of(path);
  for (std::size_t length = 0; length < whole.size(); ++length)
    refuse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
}

TEST_F(SafetensorsFile, RefusesTrailingBytesWithBothLengths) {
  write_example();
  Bytes longer = content_of(path);
  const std::size_t length = longer.size();
  longer.push_back(0);
  EXPECT_THAT(refuse(longer), AllOf(HasSubstr("has " + std::to_string(length + 1) + " bytes"),
                                    HasSubstr("expected " + std::to_string(length))));
}

TEST_F(SafetensorsFile, SurvivesEveryChangedHeaderByte) {
  write_example();
  const Bytes whole = content_of(path);
  const std::size_t end = whole.size() - 51;  // the elements themselves may be anything
  for (std::size_t i = 0; i < end; ++i)
    for (const unsigned change : {0x01U, 0x10U, 0x80U, 0xFFU}) {
      Bytes changed = whole;
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ change);
      try {
        Safetensors::read(folder.write("damaged", changed));  // a changed name is no damage
      } catch (const DataError&) {
      }
    }
}

TEST_F(SafetensorsFile, RefusesHostileHeaderLengths) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{100'000'001}})
    EXPECT_THAT(refuse(raw_file(length, "{}", 0)),
                AllOf(HasSubstr(std::to_string(length)), HasSubstr("at most 100000000")));
  EXPECT_THAT(refuse(raw_file(100'000'000, "{}", 0)), HasSubstr("found 2"));
  EXPECT_THAT(refuse(raw_file(3, "{}", 0)), HasSubstr("claims a header of 3 bytes, found 2"));
}

TEST_F(SafetensorsFile, RefusesHeadersThatAreNotJson) {
  EXPECT_THAT(refuse("", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refuse(" {}", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refuse("[]", 0), HasSubstr("does not start with '{'"));
  for (const char* text : {"{", "{}{}", "{} x", "{\"a\"}", "{\"a\":}", "{,}", "{\"\xFF\":{}}"})
    EXPECT_THAT(refuse(text, 0), HasSubstr("not JSON at its byte")) << text;
  EXPECT_THAT(refuse(std::string_view("{}\0junk", 7), 0), HasSubstr("zero byte"));
}

TEST_F(SafetensorsFile, RefusesHeadersOfAnotherForm) {
  for (const char* value : {"1",
                            "null",
                            "true",
                            "\"text\"",
                            "[]",
                            "1.5",
                            "-1",
                            "{}",
                            R"({"dtype":"U8","shape":[]})",
                            R"({"dtype":"U8","shape":{}})",
                            R"({"dtype":["U8"],"shape":[],"data_offsets":[0,1]})",
                            R"({"dtype":1,"shape":[],"data_offsets":[0,1]})",
                            R"({"dtype":"U8","shape":"1","data_offsets":[0,1]})",
                            R"({"dtype":"U8","shape":[[1]],"data_offsets":[0,1]})",
                            R"({"dtype":"U8","shape":[{}],"data_offsets":[0,1]})",
                            R"({"dtype":"U8","shape":["1"],"data_offsets":[0,1]})",
                            R"({"dtype":"U8","shape":[],"data_offsets":[0]})",
                            R"({"dtype":"U8","shape":[],"data_offsets":[]})",
                            R"({"dtype":"U8","shape":[],"data_offsets":[0,1,1]})",
                            R"({"dtype":"U8","shape":[],"data_offsets":[0,1.0]})",
                            R"({"dtype":"U8","shape":[],"data_offsets":[0,1],"more":1})"})
    EXPECT_THAT(refuse_entry("\"a\":" + std::string(value), 1), HasSubstr("in its header"))
        << value;
  for (const char* value : {"1", "[]", R"({"k":1})", R"({"k":null})", R"({"k":{}})", R"({"k":[]})"})
    EXPECT_THAT(refuse_entry("\"__metadata__\":" + std::string(value), 0),
                HasSubstr("in its header"))
        << value;
}

TEST_F(SafetensorsFile, RefusesDeepNestingAtItsFirstLevel) {
  EXPECT_THAT(refuse("{\"a\":" + std::string(1'000'000, '['), 0), HasSubstr("an array"));
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += "\"dtype\":{";
  EXPECT_THAT(refuse(objects, 0), HasSubstr("an object"));
}

TEST_F(SafetensorsFile, RefusesNamesThatOccurTwice) {
  EXPECT_THAT(refuse_entry(entry("a", "U8", "1", "0,1") + "," + entry("a", "U8", "1", "1,2"), 2),
              HasSubstr("two tensors named 'a'"));
  EXPECT_THAT(
      refuse_entry(entry("a", "U8", "1", "0,1") + "," + entry("\\u0061", "U8", "1", "0,1"), 1),
      HasSubstr("two tensors named 'a'"));
  EXPECT_THAT(refuse_entry(R"("__metadata__":{"k":"1","k":"2"})", 0), HasSubstr("twice"));
  EXPECT_THAT(refuse_entry(R"("__metadata__":{},"__metadata__":{})", 0), HasSubstr("twice"));
  EXPECT_THAT(refuse_entry(R"("a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]})", 1),
              HasSubstr("twice"));
}

TEST_F(SafetensorsFile, RefusesUnknownTypesAndTooManyDimensions) {
  for (const char* type : {"F16", "BF16", "BOOL", "f32", "", "I8"})
    EXPECT_THAT(refuse_entry(entry("a", type, "1", "0,2"), 2),
                AllOf(HasSubstr("'a'"), HasSubstr("expected F32, F64, I32, I64 or U8")));
  EXPECT_THAT(refuse_entry(entry("a", "U8", "1,1,1,1,1", "0,1"), 1),
              HasSubstr("more than 4 dimensions"));
}

TEST_F(SafetensorsFile, RefusesShapesThatWrapAround) {
  for (const char* shape : {"4294967296,4294967296", "9223372036854775807", "4611686018427387905",
                            "2305843009213693952,2,2", "4611686018427387904,4611686018427387904,0"})
    EXPECT_THAT(refuse_entry(entry("a", "F32", shape, "0,4"), 4), HasSubstr("below 2^63")) << shape;
  for (const char* shape : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                            "-1", "-0", "1e0", "1.0"})
    EXPECT_THAT(refuse_entry(entry("a", "F32", shape, "0,4"), 4), HasSubstr("the ")) << shape;
}

TEST_F(SafetensorsFile, RefusesOffsetsThatDoNotFit) {
  EXPECT_THAT(refuse_entry(entry("a", "F32", "1", "4,0"), 4), HasSubstr("begin before the end"));
  EXPECT_THAT(refuse_entry(entry("a", "F32", "1", "0,3"), 4), HasSubstr("expected 4 bytes"));
  EXPECT_THAT(refuse_entry(entry("a", "F32", "1", "0,8"), 8), HasSubstr("expected 4 bytes"));
  EXPECT_THAT(refuse_entry(entry("a", "F32", "", "0,0"), 0), HasSubstr("expected 4 bytes"));
  EXPECT_THAT(refuse_entry(entry("a", "U8", "9223372036854775807", "0,9223372036854775807"), 4),
              HasSubstr("expected 92233720368547759"));
  EXPECT_THAT(refuse_entry(entry("a", "U8", "4", "9223372036854775803,9223372036854775807"), 4),
              HasSubstr("starts at byte 9223372036854775803, expected 0"));
  EXPECT_THAT(refuse_entry(entry("a", "U8", "1", "18446744073709551615,18446744073709551616"), 1),
              HasSubstr("2^63 or more"));
}

TEST_F(SafetensorsFile, RefusesGapsAndOverlaps) {
  const auto two = [&](std::string_view a, std::string_view b, std::size_t data_bytes) {
    return refuse_entry(entry("a", "U8", "2", a) + "," + entry("b", "U8", "2", b), data_bytes);
  };
  EXPECT_THAT(two("0,2", "3,5", 5), AllOf(HasSubstr("'b'"), HasSubstr("belong to no tensor")));
  EXPECT_THAT(two("1,3", "3,5", 5), AllOf(HasSubstr("'a'"), HasSubstr("belong to no tensor")));
  EXPECT_THAT(two("0,2", "1,3", 3), AllOf(HasSubstr("'b'"), HasSubstr("overlaps")));
  EXPECT_THAT(two("0,2", "0,2", 2), HasSubstr("overlaps"));
  EXPECT_THAT(refuse_entry(entry("a", "U8", "2", "0,2") + "," + entry("b", "U8", "0", "1,1"), 2),
              HasSubstr("overlaps"));
}

TEST_F(SafetensorsFile, ShortensLongNamesInMessages) {
  refuse_entry(entry(std::string(100'000, 'n'), "F32", "2", "0,4"), 4);
  refuse_entry(entry("a\\nb", "F32", "2", "0,4"), 4);
}

TEST_F(SafetensorsFile, RefusesWhatCannotBeWrittenAndKeepsTheOldFile) {
  write_example();
  const Bytes before = content_of(path);
  const auto refuse_write = [&](const std::vector<TensorView>& tensors, const Metadata& metadata) {
    return refusal([&] { write_safetensors(path, tensors, metadata); });
  };
  const TensorView good{"a", ScalarType::u8, {3}, mask.data()};
  EXPECT_THAT(refuse_write({good, good}, {}), HasSubstr("two tensors named 'a'"));
  EXPECT_THAT(refuse_write({{"__metadata__", ScalarType::u8, {3}, mask.data()}}, {}),
              HasSubstr("reserves"));
  EXPECT_THAT(refuse_write({{"a", ScalarType::u8, {3}, nullptr}}, {}), HasSubstr("no data"));
  EXPECT_THAT(refuse_write({{"\xFF", ScalarType::u8, {3}, mask.data()}}, {}), HasSubstr("UTF-8"));
  EXPECT_THAT(refuse_write({good}, {{"k", "\xFF"}}), HasSubstr("UTF-8"));
  const std::int64_t half = std::int64_t{1} << 62;
  EXPECT_THROW(
      write_safetensors(path, std::vector<TensorView>{{"a", ScalarType::f32, {half}, &loss}}),
      ShapeError);
  EXPECT_THROW(
      write_safetensors(path, std::vector<TensorView>{{"a", ScalarType::u8, {half}, &loss},
                                                      {"b", ScalarType::u8, {half}, &loss}}),
      ShapeError);
  EXPECT_EQ(content_of(path), before);
  EXPECT_THAT(folder.names(), ElementsAre("model.safetensors"));
}

TEST_F(SafetensorsFile, RefusesDevicesAndFoldersInBothDirections) {
  EXPECT_THAT(refusal([] { write_safetensors("/dev/full", {}); }), HasSubstr("'/dev/full'"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_THAT(refusal([] { Safetensors::read("/dev/zero"); }), HasSubstr("a device"));
  EXPECT_THAT(refusal([&] { Safetensors::read(folder.path()); }), HasSubstr("a folder"));
  EXPECT_THAT(refusal([&] { Safetensors::read(path); }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace kolam::io
