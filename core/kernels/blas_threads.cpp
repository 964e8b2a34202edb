#include <kolam/core/kernels/blas_threads.hpp>

#include <dlfcn.h>
#include <omp.h>

namespace kolam::kernels {

namespace {

/// A function of the BLAS that happens to be loaded; null in another BLAS.
template <class Function>
Function* loaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void use_one_blas_thread() {
  omp_set_num_threads(1);
  if (auto* set_threads = loaded<void(int)>("openblas_set_num_threads")) set_threads(1);
}

std::string blas_library() {
  auto* configuration = loaded<char*()>("openblas_get_config");
  auto* core = loaded<char*()>("openblas_get_corename");
  if (configuration == nullptr || core == nullptr) return "a BLAS that does not name itself";
  return std::string(configuration()) + " (kernels: " + core() + ")";
}

}  // namespace kolam::kernels
