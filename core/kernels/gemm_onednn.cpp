#include <kolam/core/kernels/gemm_onednn.hpp>

#include <kolam/core/error.hpp>

#ifdef KOLAM_HAS_ONEDNN

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kolam::kernels {

namespace {

using Dims = dnnl::memory::dims;

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed,
                          std::int64_t row_stride) {
  // Of a matrix with one stored row the stride means nothing, but oneDNN checks it.
  const std::int64_t stride = std::max(row_stride, transposed ? rows : columns);
  return {Dims{rows, columns}, dnnl::memory::data_type::f32,
          transposed ? Dims{1, stride} : Dims{stride, 1}};
}

/// A primitive with its arguments; executing it again only changes addresses.
struct Product {
  /// \param is_packed whether b comes in the layout that oneDNN likes best.
  Product(const ProductShape& made_for, bool is_packed, const dnnl::engine& engine)
      : shape(made_for),
        packed(is_packed),
        description(describe(made_for, is_packed, engine)),
        primitive(description) {
    const auto empty = [&](const dnnl::memory::desc& desc) {
      return dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
    };
    a = empty(description.src_desc());
    b = empty(description.weights_desc());
    c = empty(description.dst_desc());
    scratchpad = empty(description.scratchpad_desc());
  }

  static dnnl::memory::desc plain_b(const ProductShape& shape) {
    return matrix(shape.k, shape.n, shape.transpose_b, shape.row_stride_b);
  }

  static dnnl::matmul::primitive_desc describe(const ProductShape& shape, bool is_packed,
                                               const dnnl::engine& engine) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.alpha != 1) attributes.set_output_scales(0, {shape.alpha});
    if (shape.beta != 0) {
      dnnl::post_ops sum;
      sum.append_sum(shape.beta);
      attributes.set_post_ops(sum);
    }
    return {{matrix(shape.m, shape.k, shape.transpose_a, shape.row_stride_a),
             is_packed ? dnnl::memory::desc(Dims{shape.k, shape.n}, dnnl::memory::data_type::f32,
                                            dnnl::memory::format_tag::any)
                       : plain_b(shape),
             matrix(shape.m, shape.n, false, shape.row_stride_c)},
            attributes,
            engine};
  }

  std::size_t scratchpad_bytes() const { return description.scratchpad_desc().get_size(); }

  ProductShape shape;
  bool packed;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::memory a;
  dnnl::memory b;
  dnnl::memory c;
  dnnl::memory scratchpad;
};

/// a^T b with all extents large: oneDNN's sgemm packs both operands, which its matmul does not do
/// for the transposed one, and is a few percent faster.
bool is_weight_gradient(const ProductShape& shape) {
  constexpr std::int64_t large = 64;
  return shape.transpose_a && !shape.transpose_b && shape.m >= large && shape.n >= large &&
         shape.k >= large;
}

/// Parameters that were used while constants are kept, and their packed copy.
struct Kept {
  const float* b = nullptr;
  ProductShape shape;
  /// Uses since constants are kept; packed from the second on.
  int uses = 0;
  bool is_packed = false;
  dnnl::memory::desc layout;
  Kokkos::View<std::byte*, MemorySpace> memory;

  bool is_for(const float* other, const ProductShape& other_shape) const {
    // The rows of a differ between uses of one weight; the layout of b does not depend on them.
    return b == other && shape.k == other_shape.k && shape.n == other_shape.n &&
           shape.transpose_b == other_shape.transpose_b &&
           shape.row_stride_b == other_shape.row_stride_b;
  }
};

}  // namespace

struct OneDnnGemm::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<std::unique_ptr<Product>> products;
  Kokkos::View<std::byte*, MemorySpace> scratch;

  std::vector<Kept> kept;

  /// How often these parameters were used since constants are kept, this time included.
  Kept& use(const float* b, const ProductShape& shape) {
    for (Kept& entry : kept) {
      if (!entry.is_for(b, shape)) continue;
      ++entry.uses;
      return entry;
    }
    kept.emplace_back();
    kept.back().b = b;
    kept.back().shape = shape;
    kept.back().uses = 1;
    return kept.back();
  }

  /// Brings b into the layout of the product, unless it is there already.
  void pack(Kept& entry, const Product& product) {
    const dnnl::memory::desc layout = product.description.weights_desc();
    if (entry.is_packed && entry.layout == layout) return;
    if (entry.memory.size() < layout.get_size()) {
      entry.memory = {};
      entry.memory = Kokkos::View<std::byte*, MemorySpace>(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "kolam::kernels::packed_parameters"),
          layout.get_size());
    }
    dnnl::memory from(Product::plain_b(product.shape), engine, const_cast<float*>(entry.b));
    dnnl::memory to(layout, engine, entry.memory.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    entry.layout = layout;
    entry.is_packed = true;
  }

  Product& product(const ProductShape& shape, bool is_packed) {
    for (auto found = products.begin(); found != products.end(); ++found) {
      if ((*found)->packed != is_packed || !((*found)->shape == shape)) continue;
      // Shapes that repeat stay near the front, so the search is short.
      if (found != products.begin()) std::iter_swap(found, found - 1);
      return found == products.begin() ? **found : **(found - 1);
    }
    products.push_back(std::make_unique<Product>(shape, is_packed, engine));
    const std::size_t bytes = products.back()->scratchpad_bytes();
    if (bytes > scratch.size()) {
      scratch = {};
      scratch = Kokkos::View<std::byte*, MemorySpace>(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "kolam::kernels::onednn_scratch"), bytes);
    }
    return *products.back();
  }
};

OneDnnGemm::OneDnnGemm() : state_(std::make_unique<State>()) {}
OneDnnGemm::~OneDnnGemm() = default;

void OneDnnGemm::operator()(const ExecutionSpace& space, const ProductShape& shape, const float* a,
                            const float* b, float* c, bool b_is_kept) {
  space.fence();
  try {
    if (is_weight_gradient(shape)) {
      dnnl::error::wrap_c_api(
          dnnl_sgemm('T', 'N', shape.m, shape.n, shape.k, shape.alpha, a, shape.row_stride_a, b,
                     shape.row_stride_b, shape.beta, c, shape.row_stride_c),
          "could not multiply");
      return;
    }
    Kept* const kept = b_is_kept ? &state_->use(b, shape) : nullptr;
    const bool is_packed = kept != nullptr && kept->uses > 1;
    Product& product = state_->product(shape, is_packed);
    if (is_packed) state_->pack(*kept, product);
    product.a.set_data_handle(const_cast<float*>(a));
    product.b.set_data_handle(is_packed ? static_cast<void*>(kept->memory.data())
                                        : const_cast<float*>(b));
    product.c.set_data_handle(c);
    product.scratchpad.set_data_handle(state_->scratch.data());
    // The C interface, because the C++ one builds a map at every call.
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.get()},
                                         {DNNL_ARG_WEIGHTS, product.b.get()},
                                         {DNNL_ARG_DST, product.c.get()},
                                         {DNNL_ARG_SCRATCHPAD, product.scratchpad.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(product.primitive.get(), state_->stream.get(), 4, arguments),
        "could not multiply");
  } catch (const dnnl::error& error) {
    throw Error(
        fmt::format("gemm: oneDNN refused [{}, {}] x [{}, {}]: {}; set "
                    "KOLAM_GEMM=kokkos-kernels",
                    shape.m, shape.k, shape.k, shape.n, error.what()));
  }
}

void OneDnnGemm::forget_packed() {
  // What was not used lately belonged to parameters that are gone.
  std::erase_if(state_->kept, [](const Kept& entry) { return entry.uses == 0; });
  for (Kept& entry : state_->kept) {
    entry.uses = 0;
    entry.is_packed = false;
  }
}

}  // namespace kolam::kernels

#else

namespace kolam::kernels {

struct OneDnnGemm::State {};

OneDnnGemm::OneDnnGemm() {
  throw ConfigurationError("this build has no oneDNN");
}
OneDnnGemm::~OneDnnGemm() = default;
void OneDnnGemm::operator()(const ExecutionSpace&, const ProductShape&, const float*, const float*,
                            float*, bool) {}
void OneDnnGemm::forget_packed() {}

}  // namespace kolam::kernels

#endif
