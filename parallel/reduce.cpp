#include <kolam/parallel/reduce.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace kolam::collective {

namespace {

// Small enough that the block being reduced stays in the first-level cache.
constexpr std::int64_t block_bytes = 8192;
// Right-hand branches nested in each other: enough for 4096 sources.
constexpr int tree_levels = 12;

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      // Unsigned, because overflow of a signed sum is undefined.
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    }
  }
};

// `a != a`: a is a NaN. A NaN in b is taken because the comparison fails.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return (a < b || a != a) ? a : b;
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return (a > b || a != a) ? a : b;
  }
};

/// Reduces one block of elements over all sources.
template <class T, class Operation>
class BlockTree {
 public:
  static constexpr std::int64_t block = block_bytes / static_cast<std::int64_t>(sizeof(T));

  explicit BlockTree(std::span<const void* const> sources) : sources_(sources) {}

  /// `length` (at most `block`) elements of every source from `offset` on.
  const T* reduce(std::int64_t offset, std::int64_t length) {
    offset_ = offset;
    length_ = length;
    reduce_range(0, sources_.size(), result_, 0);
    return result_;
  }

  T* result() { return result_; }

 private:
  const T* source(std::size_t index) const {
    return static_cast<const T*>(sources_[index]) + offset_;
  }

  void reduce_range(std::size_t first, std::size_t size, T* out, int level) {
    if (size <= 4) {
      reduce_few(first, size, out);
      return;
    }
    const std::size_t left = std::bit_floor(size - 1);
    reduce_range(first, left, out, level);
    if (size - left == 1) {
      accumulate(source(first + left), out);
      return;
    }
    reduce_range(first + left, size - left, scratch_[level], level + 1);
    accumulate(scratch_[level], out);
  }

  void reduce_few(std::size_t first, std::size_t size, T* __restrict out) const {
    const T* const a = source(first);
    if (size == 1) {
      std::memcpy(out, a, static_cast<std::size_t>(length_) * sizeof(T));
      return;
    }
    const T* const b = source(first + 1);
    if (size == 2) {
      for (std::int64_t i = 0; i < length_; ++i) out[i] = Operation::apply(a[i], b[i]);
      return;
    }
    const T* const c = source(first + 2);
    if (size == 3) {
      for (std::int64_t i = 0; i < length_; ++i) {
        out[i] = Operation::apply(Operation::apply(a[i], b[i]), c[i]);
      }
      return;
    }
    const T* const d = source(first + 3);
    for (std::int64_t i = 0; i < length_; ++i) {
      out[i] = Operation::apply(Operation::apply(a[i], b[i]), Operation::apply(c[i], d[i]));
    }
  }

  void accumulate(const T* __restrict right, T* __restrict out) const {
    for (std::int64_t i = 0; i < length_; ++i) out[i] = Operation::apply(out[i], right[i]);
  }

  std::span<const void* const> sources_;
  std::int64_t offset_ = 0;
  std::int64_t length_ = 0;
  alignas(64) T result_[block];
  alignas(64) T scratch_[tree_levels][block];
};

template <class T, class Operation>
void reduce_as(bool is_mean, std::span<const void* const> sources, std::int64_t source_offset,
               std::span<void* const> targets, std::int64_t target_offset, std::int64_t count) {
  BlockTree<T, Operation> tree(sources);
  const T size = static_cast<T>(sources.size());
  for (std::int64_t done = 0; done < count; done += tree.block) {
    const std::int64_t length = std::min(tree.block, count - done);
    tree.reduce(source_offset + done, length);
    if (is_mean) {
      for (std::int64_t i = 0; i < length; ++i) tree.result()[i] /= size;
    }
    for (void* const target : targets) {
      std::memcpy(static_cast<T*>(target) + target_offset + done, tree.result(),
                  static_cast<std::size_t>(length) * sizeof(T));
    }
  }
}

template <class T>
void reduce_type(ReduceOperation operation, std::span<const void* const> sources,
                 std::int64_t source_offset, std::span<void* const> targets,
                 std::int64_t target_offset, std::int64_t count) {
  switch (operation) {
    case ReduceOperation::sum:
    case ReduceOperation::mean:
      return reduce_as<T, Sum>(operation == ReduceOperation::mean, sources, source_offset, targets,
                               target_offset, count);
    case ReduceOperation::min:
      return reduce_as<T, Min>(false, sources, source_offset, targets, target_offset, count);
    case ReduceOperation::max:
      return reduce_as<T, Max>(false, sources, source_offset, targets, target_offset, count);
  }
}

}  // namespace

void reduce(ScalarType type, ReduceOperation operation, std::span<const void* const> sources,
            std::int64_t source_offset, std::span<void* const> targets, std::int64_t target_offset,
            std::int64_t count) noexcept {
  const auto reduce_elements = [&]<class T>(T) {
    reduce_type<T>(operation, sources, source_offset, targets, target_offset, count);
  };
  switch (type) {
    case ScalarType::f32:
      return reduce_elements(float{});
    case ScalarType::f64:
      return reduce_elements(double{});
    case ScalarType::i32:
      return reduce_elements(std::int32_t{});
    case ScalarType::i64:
      return reduce_elements(std::int64_t{});
    case ScalarType::u8:
      return reduce_elements(std::uint8_t{});
  }
}

Share share_of(std::int64_t count, ScalarType type, int index, int size) {
  constexpr std::int64_t line_bytes = 64;
  const std::int64_t per_line = line_bytes / static_cast<std::int64_t>(size_of(type));
  const std::int64_t lines = count / per_line + (count % per_line == 0 ? 0 : 1);
  const auto first_line = [&](std::int64_t i) {
    return lines / size * i + std::min<std::int64_t>(lines % size, i);
  };
  // The last line may be a part of one, and counting it in full could overflow.
  const auto element = [&](std::int64_t line) { return line == lines ? count : line * per_line; };
  const std::int64_t begin = element(first_line(index));
  return {begin, element(first_line(index + 1)) - begin};
}

}  // namespace kolam::collective
