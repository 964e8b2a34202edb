#include <kolam/core/array/slice_copy.hpp>

#include <cstring>

namespace kolam {

namespace {

/// Calls `run(global_offset, packed_offset, count)`, in elements, for each contiguous run.
template <class Run>
void for_each_run(const Extents& global, const Slices& slices, Run run) {
  const int dimensions = global.dimensions();
  const auto slice = [&](int i) -> const Slice& { return slices[static_cast<std::size_t>(i)]; };
  // Trailing dimensions that are whole make one run together with the one before them.
  int split = dimensions - 1;
  std::int64_t stride = 1;
  while (split > 0 && slice(split).length == global[split]) stride *= global[split--];
  const std::int64_t count = dimensions == 0 ? 1 : slice(split).length * stride;
  std::int64_t runs = 1;
  for (int i = 0; i < split; ++i) runs *= slice(i).length;
  if (count == 0) return;
  for (std::int64_t index = 0; index < runs; ++index) {
    std::int64_t offset = dimensions == 0 ? 0 : slice(split).begin * stride;
    std::int64_t step = dimensions == 0 ? 1 : global[split] * stride;
    std::int64_t rest = index;
    for (int i = split - 1; i >= 0; --i) {
      offset += (slice(i).begin + rest % slice(i).length) * step;
      rest /= slice(i).length;
      step *= global[i];
    }
    run(offset, index * count, count);
  }
}

}  // namespace

void pack_slice(const void* global_data, std::size_t element_size, const Extents& global,
                const Slices& slices, void* packed) {
  for_each_run(global, slices, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::memcpy(
        static_cast<std::byte*>(packed) + static_cast<std::size_t>(to) * element_size,
        static_cast<const std::byte*>(global_data) + static_cast<std::size_t>(from) * element_size,
        static_cast<std::size_t>(count) * element_size);
  });
}

void unpack_slice(const void* packed, std::size_t element_size, const Extents& global,
                  const Slices& slices, void* global_data) {
  for_each_run(global, slices, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::memcpy(
        static_cast<std::byte*>(global_data) + static_cast<std::size_t>(to) * element_size,
        static_cast<const std::byte*>(packed) + static_cast<std::size_t>(from) * element_size,
        static_cast<std::size_t>(count) * element_size);
  });
}

}  // namespace kolam
