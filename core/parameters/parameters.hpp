/// \file
/// The parameters of a model as one flat buffer, of which each named parameter is an Array.
///
/// Gradients and optimizer state mirror the buffer, so an allreduce, an update, a norm and a
/// checkpoint are each one pass. Every parameter starts at a multiple of 64 bytes; the gaps hold
/// zeros. Starts are drawn by global index, so they depend on the seed only, never on the mesh.
#pragma once

#include <kolam/core/array/array.hpp>
#include <kolam/core/array/host_tensor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kolam {

/// How a parameter starts.
enum class Start {
  zeros,
  /// Normal with standard deviation sqrt(2 / fan_in), fan_in being the first extent
  /// (He et al., arXiv:1502.01852, eq. 10).
  he_normal,
};

struct ParameterSpec {
  std::string name;
  /// Global extents.
  Extents extents;
  Start start = Start::zeros;
  PartitionSpec partition = {};
};

template <class T>
class Parameters {
 public:
  /// \throws ConfigurationError for a repeated name, ShapeError for an extent of 0.
  Parameters(RankContext& context, std::vector<ParameterSpec> specs, std::uint64_t seed);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  RankContext& context() const { return *context_; }
  const std::vector<ParameterSpec>& specs() const { return specs_; }
  /// Position of a name in `specs`. \throws ConfigurationError if there is none.
  std::size_t index_of(std::string_view name) const;
  /// Number of parameters over all ranks, each counted once.
  std::int64_t count() const { return count_; }
  /// Elements of the flat buffer on this rank, gaps included.
  std::int64_t flat_size() const { return flat_size_; }
  /// This rank's flat buffer.
  Vector<T> flat() const {
    return Vector<T>(static_cast<T*>(alive().data()), static_cast<std::size_t>(flat_size_));
  }
  /// Where a parameter starts in the flat buffer, in elements.
  std::int64_t offset(std::size_t index) const { return offsets_[index]; }

  /// A parameter as an Array; on the tape it is a leaf. The policies must be those of its spec.
  /// \throws ShapeError if the number of dimensions or the partition differs.
  template <class DataType, class... Policies>
  Array<DataType, Policies...> get(std::size_t index) const;

  /// This rank's slice, in row-major order.
  std::vector<T> local_values(std::size_t index) const;
  /// Sets a parameter from its global values. \throws ShapeError if the extents differ.
  void assign(std::size_t index, const HostTensor<T>& global);

  /// SHA-256 (hexadecimal) over this rank's slices, in the order of the specs.
  std::string digest() const;

  /// Makes every parameter a leaf of the recording tape; its gradient is in `flat_gradient`.
  void register_leaves(T* flat_gradient);
  /// Zeroes the gradients that did not arrive and the gaps; call after the backward pass.
  void zero_missing_gradients(T* flat_gradient) const;

 private:
  const Block& alive() const;
  void draw_start(std::size_t index, std::uint64_t seed);

  RankContext* context_;
  std::vector<ParameterSpec> specs_;
  std::vector<std::int64_t> offsets_;
  std::vector<Extents> local_;
  std::vector<NodeId> leaves_;
  std::int64_t count_ = 0;
  std::int64_t flat_size_ = 0;
  Block block_;
};

template <class T>
template <class DataType, class... Policies>
Array<DataType, Policies...> Parameters<T>::get(std::size_t index) const {
  using Result = Array<DataType, Policies...>;
  static_assert(std::is_same_v<typename Result::value_type, T>,
                "kolam: a parameter has the element type of its buffer");
  const ParameterSpec& spec = specs_[index];
  if (spec.extents.dimensions() != Result::dimensions ||
      !(spec.partition == PartitionSpec(Result::placement))) {
    throw ShapeError(fmt::format(
        "parameter {} is {} placed {}, but was asked for with {} dimensions placed {}", spec.name,
        to_string(spec.extents), to_string(spec.partition, spec.extents.dimensions()),
        Result::dimensions, to_string(PartitionSpec(Result::placement), Result::dimensions)));
  }
  T* data = static_cast<T*>(alive().data()) + offsets_[index];
  return Result(*context_, spec.extents, data, block_, leaves_[index]);
}

/// Gradients of all parameters: one flat buffer with the layout of `Parameters::flat`, and as type
/// whether they are pending sums or still vary between ranks.
template <class T, Placement State>
class Gradients {
 public:
  static constexpr Placement placement = State;
  using value_type = T;

  Gradients(Parameters<T>& parameters, Block block)
      : parameters_(&parameters), block_(std::move(block)) {}

  Parameters<T>& parameters() const { return *parameters_; }
  /// This rank's gradients.
  Vector<T> flat() const {
    return Vector<T>(static_cast<T*>(block_.data()),
                     static_cast<std::size_t>(parameters_->flat_size()));
  }
  /// The gradient of one parameter on this rank, in row-major order.
  std::vector<T> local_values(std::size_t index) const {
    Kokkos::View<T*, Kokkos::HostSpace> host("kolam::gradients::host_copy", flat().size());
    Kokkos::deep_copy(parameters_->context().space(), host, flat());
    parameters_->context().space().fence();
    const auto begin = host.data() + parameters_->offset(index);
    const auto count = local_extents(parameters_->context().mesh(), parameters_->context().rank(),
                                     parameters_->specs()[index].partition.placement(),
                                     parameters_->specs()[index].extents)
                           .count();
    return std::vector<T>(begin, begin + count);
  }
  const Block& block() const { return block_; }

 private:
  Parameters<T>* parameters_;
  Block block_;
};

extern template class Parameters<float>;
extern template class Parameters<double>;

}  // namespace kolam
