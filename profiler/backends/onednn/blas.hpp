#pragma once

#include <cstdint>
#include <string>

namespace ddl::onednn {

/// Matrix products of a BLAS that is loaded by name. Frameworks use a BLAS for matrix products rather than oneDNN.
class Blas {
 public:
  /// `library`: `libopenblas.so.0`, or a path. Throws Error if the library cannot be loaded, has no cblas_sgemm, or is not
  /// OpenBLAS although more than one thread is requested.
  Blas(const std::string& library, int threads);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Whether A and B are transposed in memory, and whether the product is added to C.
  struct Form {
    bool a_transposed = false, b_transposed = false, adds = false;
  };
  /// C = A·B of dense row-major matrices of m×k and k×n items.
  void product(Form form, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const;

  /// The library's description of itself, or its name.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  void* handle_;
  void (*product_)();
  std::string description_;
};

}  // namespace ddl::onednn
