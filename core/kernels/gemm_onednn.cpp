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
  Product(const ProductShape& made_for, const dnnl::engine& engine)
      : shape(made_for), description(describe(made_for, engine)), primitive(description) {
    const auto empty = [&](const dnnl::memory::desc& desc) {
      return dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
    };
    a = empty(description.src_desc());
    b = empty(description.weights_desc());
    c = empty(description.dst_desc());
    scratchpad = empty(description.scratchpad_desc());
  }

  static dnnl::matmul::primitive_desc describe(const ProductShape& shape,
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
             matrix(shape.k, shape.n, shape.transpose_b, shape.row_stride_b),
             matrix(shape.m, shape.n, false, shape.row_stride_c)},
            attributes,
            engine};
  }

  std::size_t scratchpad_bytes() const { return description.scratchpad_desc().get_size(); }

  ProductShape shape;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::memory a;
  dnnl::memory b;
  dnnl::memory c;
  dnnl::memory scratchpad;
};

}  // namespace

struct OneDnnGemm::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<std::unique_ptr<Product>> products;
  Kokkos::View<std::byte*, MemorySpace> scratch;

  Product& product(const ProductShape& shape) {
    for (auto found = products.begin(); found != products.end(); ++found) {
      if (!((*found)->shape == shape)) continue;
      // Shapes that repeat stay near the front, so the search is short.
      if (found != products.begin()) std::iter_swap(found, found - 1);
      return found == products.begin() ? **found : **(found - 1);
    }
    products.push_back(std::make_unique<Product>(shape, engine));
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
                            const float* b, float* c) {
  space.fence();
  try {
    Product& product = state_->product(shape);
    product.a.set_data_handle(const_cast<float*>(a));
    product.b.set_data_handle(const_cast<float*>(b));
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

}  // namespace kolam::kernels

#else

namespace kolam::kernels {

struct OneDnnGemm::State {};

OneDnnGemm::OneDnnGemm() {
  throw ConfigurationError("this build has no oneDNN");
}
OneDnnGemm::~OneDnnGemm() = default;
void OneDnnGemm::operator()(const ExecutionSpace&, const ProductShape&, const float*, const float*,
                            float*) {}

}  // namespace kolam::kernels

#endif
