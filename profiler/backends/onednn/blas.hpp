#pragma once

#include <cstdint>
#include <string>

namespace ddl::onednn {

/// Matrix products of a BLAS that is loaded by name. Frameworks hand theirs to one rather than to oneDNN.
class Blas {
 public:
  /// `library`: `libopenblas.so.0`, or a path. Error where it cannot be loaded, has no cblas_sgemm, or
  /// is to take several threads and is not OpenBLAS.
  Blas(const std::string& library, int threads);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// How A and B lie in memory, and whether the product is added to what C holds.
  struct Form {
    bool a_transposed = false, b_transposed = false, adds = false;
  };
  /// C = A·B of matrices of m×k and k×n items, dense, rows one behind the other.
  void product(Form form, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const;

  /// What the library says of itself, or its name.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  void* handle_;
  void (*product_)();
  std::string description_;
};

}  // namespace ddl::onednn
