#include <kolam/core/parameters/parameters.hpp>

#include <kolam/core/data/checksum.hpp>
#include <kolam/core/kernels/elementwise.hpp>
#include <kolam/core/random/normal.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace kolam {

namespace {

template <class T>
std::int64_t padded(std::int64_t count) {
  constexpr std::int64_t step = 64 / static_cast<std::int64_t>(sizeof(T));
  return (count + step - 1) / step * step;
}

/// Position in the global array of an element of this rank's slice (both row-major).
class GlobalIndex {
 public:
  GlobalIndex(const RankContext& context, const ParameterSpec& spec)
      : global_(spec.extents),
        slices_(
            NamedSharding{context.mesh(), spec.partition}.slices(spec.extents, context.rank())) {}

  std::int64_t operator()(std::int64_t local) const {
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (int i = global_.dimensions() - 1; i >= 0; --i) {
      const Slice& slice = slices_[static_cast<std::size_t>(i)];
      index += (slice.begin + local % slice.length) * stride;
      local /= slice.length;
      stride *= global_[i];
    }
    return index;
  }

 private:
  Extents global_;
  std::array<Slice, Extents::max_dimensions> slices_;
};

}  // namespace

template <class T>
Parameters<T>::Parameters(RankContext& context, std::vector<ParameterSpec> specs,
                          std::uint64_t seed)
    : context_(&context), specs_(std::move(specs)), leaves_(specs_.size()) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const ParameterSpec& spec = specs_[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (specs_[j].name == spec.name) {
        throw ConfigurationError(fmt::format("two parameters are named {}", spec.name));
      }
    }
    const std::int64_t count = spec.extents.count();
    if (count == 0) {
      throw ShapeError(fmt::format("parameter {} has extents {}; every extent must be at least 1",
                                   spec.name, to_string(spec.extents)));
    }
    count_ += count;
    local_.push_back(
        local_extents(context.mesh(), context.rank(), spec.partition.placement(), spec.extents));
    offsets_.push_back(flat_size_);
    flat_size_ += padded<T>(local_.back().count());
  }
  block_ = context.arena().allocate(
      checked_product(flat_size_, static_cast<std::int64_t>(sizeof(T))), "the parameters");
  kernels::fill(context.space(), flat(), T(0));
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].start == Start::he_normal) draw_start(i, seed);
  }
}

template <class T>
const Block& Parameters<T>::alive() const {
  if (block_.data() == nullptr) {
    throw Error(
        "these parameters lived on a rank that is gone; make the model inside the run "
        "that uses it");
  }
  return block_;
}

template <class T>
std::size_t Parameters<T>::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].name == name) return i;
  throw ConfigurationError(fmt::format("there is no parameter named {}", name));
}

template <class T>
void Parameters<T>::draw_start(std::size_t index, std::uint64_t seed) {
  const ParameterSpec& spec = specs_[index];
  const double deviation = std::sqrt(2.0 / static_cast<double>(spec.extents[0]));
  const GlobalIndex global(*context_, spec);
  const std::int64_t count = local_[index].count();
  const Kokkos::View<T*, Kokkos::HostSpace> host(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "kolam::parameters::start"),
      static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    host(static_cast<std::size_t>(i)) = static_cast<T>(
        deviation * random::standard_normal(seed, index, static_cast<std::uint64_t>(global(i))));
  }
  Kokkos::deep_copy(context_->space(),
                    Vector<T>(flat().data() + offsets_[index], static_cast<std::size_t>(count)),
                    host);
  context_->space().fence();
}

template <class T>
std::vector<T> Parameters<T>::local_values(std::size_t index) const {
  std::vector<T> values(static_cast<std::size_t>(local_[index].count()));
  if (values.empty()) return values;
  const Kokkos::View<T*, Kokkos::HostSpace, Unmanaged> host(values.data(), values.size());
  Kokkos::deep_copy(context_->space(), host,
                    Vector<T>(flat().data() + offsets_[index], values.size()));
  context_->space().fence();
  return values;
}

template <class T>
void Parameters<T>::assign(std::size_t index, const HostTensor<T>& given) {
  const ParameterSpec& spec = specs_[index];
  if (given.extents != spec.extents) {
    throw ShapeError(fmt::format("parameter {} is {}, the values given are {}", spec.name,
                                 to_string(spec.extents), to_string(given.extents)));
  }
  const GlobalIndex global(*context_, spec);
  std::vector<T> values(static_cast<std::size_t>(local_[index].count()));
  if (values.empty()) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = given.data[global(static_cast<std::int64_t>(i))];
  }
  const Kokkos::View<const T*, Kokkos::HostSpace, Unmanaged> host(values.data(), values.size());
  Kokkos::deep_copy(context_->space(), Vector<T>(flat().data() + offsets_[index], values.size()),
                    host);
  context_->space().fence();
}

template <class T>
std::string Parameters<T>::digest() const {
  data::Digest digest;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::vector<T> values = local_values(i);
    digest.update(std::as_bytes(std::span(values)));
  }
  return digest.hex();
}

template <class T>
void Parameters<T>::register_leaves(T* flat_gradient) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    leaves_[i] = context_->tape().add_leaf(flat_gradient + offsets_[i]);
  }
}

template <class T>
void Parameters<T>::zero_missing_gradients(T* flat_gradient) const {
  const auto zero = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    kernels::fill(context_->space(),
                  Vector<T>(flat_gradient + begin, static_cast<std::size_t>(end - begin)), T(0));
  };
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::int64_t end = offsets_[i] + local_[i].count();
    if (!context_->tape().has_arrived(leaves_[i])) zero(offsets_[i], end);
    zero(end, i + 1 < specs_.size() ? offsets_[i + 1] : flat_size_);
  }
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace kolam
