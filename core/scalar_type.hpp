/// \file
/// The element types that cross a communicator or a file, as run-time values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kolam {

/// Element type as a run-time value: for fingerprints, files and printing.
enum class ScalarType : std::uint8_t { f32, f64, i32, i64, u8 };

/// Bytes of one element.
constexpr std::size_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::f32:
    case ScalarType::i32:
      return 4;
    case ScalarType::f64:
    case ScalarType::i64:
      return 8;
    case ScalarType::u8:
      return 1;
  }
  return 0;
}

/// The field's short name: `f32`, `f64`, `i32`, `i64`, `u8`.
constexpr std::string_view name_of(ScalarType type) {
  switch (type) {
    case ScalarType::f32:
      return "f32";
    case ScalarType::f64:
      return "f64";
    case ScalarType::i32:
      return "i32";
    case ScalarType::i64:
      return "i64";
    case ScalarType::u8:
      return "u8";
  }
  return "?";
}

template <class T>
struct ScalarTypeOf;
template <>
struct ScalarTypeOf<float> {
  static constexpr ScalarType value = ScalarType::f32;
};
template <>
struct ScalarTypeOf<double> {
  static constexpr ScalarType value = ScalarType::f64;
};
template <>
struct ScalarTypeOf<std::int32_t> {
  static constexpr ScalarType value = ScalarType::i32;
};
template <>
struct ScalarTypeOf<std::int64_t> {
  static constexpr ScalarType value = ScalarType::i64;
};
template <>
struct ScalarTypeOf<std::uint8_t> {
  static constexpr ScalarType value = ScalarType::u8;
};

/// `scalar_type_of<float>` is `ScalarType::f32`, and so on; `const` is ignored.
template <class T>
inline constexpr ScalarType scalar_type_of = ScalarTypeOf<T>::value;
template <class T>
inline constexpr ScalarType scalar_type_of<const T> = ScalarTypeOf<T>::value;

}  // namespace kolam
