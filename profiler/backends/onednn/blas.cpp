#include "profiler/backends/onednn/blas.hpp"

#include <limits>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl::onednn {
namespace {

// Values of the enumerations in the C interface of the reference BLAS [netlib, cblas.h].
constexpr int row_major = 101, as_it_is = 111, transposed = 112;
using Product = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

}  // namespace

Blas::Blas(const std::string& library, int threads) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* const why = dlerror();
    throw Error(fmt::format("--blas {} cannot be loaded: {}", quote(library), why == nullptr ? "" : why),
                "name a BLAS of this machine, for example libopenblas.so.0");
  }
  product_ = reinterpret_cast<void (*)()>(dlsym(handle_, "cblas_sgemm"));
  if (product_ == nullptr) {
    dlclose(handle_);
    throw Error(fmt::format("--blas {} has no cblas_sgemm", quote(library)), "name a BLAS with the C interface");
  }
  if (void* const set = dlsym(handle_, "openblas_set_num_threads"); set != nullptr) {
    reinterpret_cast<void (*)(int)>(set)(threads);
  } else if (threads > 1) {
    // Only OpenBLAS is known to set its number of threads by this function.
    dlclose(handle_);
    throw Error(fmt::format("--blas {} is not OpenBLAS: its number of threads cannot be set to {}", quote(library), threads),
                "measure with one thread, or by OpenBLAS");
  }
  description_ = library;
  if (void* const config = dlsym(handle_, "openblas_get_config"); config != nullptr) {
    description_ = reinterpret_cast<const char* (*)()>(config)();
  }
}

Blas::~Blas() { dlclose(handle_); }

void Blas::product(Form form, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                   float* c) const {
  const auto size = [](std::int64_t items) {
    if (items > std::numeric_limits<int>::max())
      throw Error(fmt::format("BLAS does not support matrices of {} rows or columns", items));
    return static_cast<int>(items);
  };
  reinterpret_cast<Product>(product_)(row_major, form.a_transposed ? transposed : as_it_is,
                                      form.b_transposed ? transposed : as_it_is, size(m), size(n), size(k), 1.0F, a,
                                      size(form.a_transposed ? m : k), b, size(form.b_transposed ? k : n),
                                      form.adds ? 1.0F : 0.0F, c, size(n));
}

}  // namespace ddl::onednn
