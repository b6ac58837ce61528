#pragma once

#include <cstdint>
#include <string>

namespace ddl::onednn {

/// Matrix products of a BLAS that is loaded by name. Frameworks use a BLAS for matrix products rather than oneDNN.
class Blas {
 public:
  /// Loads a BLAS. `library`: a name such as `libopenblas.so.0`, or a path. Throws Error if the library cannot be loaded, or
  /// has no cblas_sgemm. With more than one thread, also throws Error if the library is not OpenBLAS.
  Blas(const std::string& library, int threads);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// The form of a product: whether A and B are transposed in memory, and whether the product is added to C.
  struct Form {
    bool a_transposed = false, b_transposed = false, adds = false;
  };
  /// Computes C = A·B for dense row-major matrices of m×k and k×n elements.
  void product(Form form, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const;

  /// The library's description of itself, or its name.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  void* handle_;
  void (*product_)();
  std::string description_;
};

}  // namespace ddl::onednn
