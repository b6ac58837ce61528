#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <cublasLt.h>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// The product C = A·B of dense row-major matrices. A is m × k, and B is k × n. `count` matrices of
/// each are consecutive in memory.
struct Product {
  std::int64_t m = 1, n = 1, k = 1;
  bool a_transposed = false, b_transposed = false;  ///< whether A is stored as k × m, and B as n × k
  bool has_bias = false;                            ///< one bias element per column is added to all rows
  std::int64_t count = 1;
  std::uint32_t alignment = 256;  ///< alignment of all addresses, in bytes; smaller for parts of larger tensors
};
/// The largest power of two, up to 256 bytes, that divides all of these offsets, which are in elements.
[[nodiscard]] std::uint32_t alignment_of(std::initializer_list<std::int64_t> offsets, Precision precision);

/// The product in the column-major convention of the library: Cᵀ = Bᵀ·Aᵀ. The first matrix of the library is therefore B,
/// and the second one is A.
struct ColumnProduct {
  struct Matrix {
    std::int64_t rows = 1, columns = 1, leading = 1, stride = 0;
    bool transposed = false;
    friend bool operator==(const Matrix&, const Matrix&) = default;
  };
  Matrix first, second, result;
};
[[nodiscard]] ColumnProduct by_columns(const Product& product);

/// A matrix product of cuBLASLt with an algorithm chosen for it.
class ProductRunner {
 public:
  /// `key` describes the purpose of the product. Throws Error if no algorithm runs the product.
  ProductRunner(const Device& device, const Product& product, Precision precision, const std::string& key);
  /// Computes the product on device addresses. `bias` is used only if the product has a bias.
  void run(const Device& device, const void* a, const void* b, void* c, const void* bias = nullptr);
  [[nodiscard]] std::string name() const { return name_; }
  [[nodiscard]] std::size_t workspace() const { return workspace_; }

 private:
  void start(const Device& device, const cublasLtMatmulAlgo_t& algorithm, void* workspace, std::size_t workspace_bytes,
             const void* a, const void* b, void* c, const void* bias);

  template <class Handle, cublasStatus_t (*destroy)(Handle)>
  struct Destroy {
    using pointer = Handle;
    void operator()(Handle handle) const { static_cast<void>(destroy(handle)); }
  };
  using Layout =
      std::unique_ptr<void, Destroy<cublasLtMatrixLayout_t,
                                    static_cast<cublasStatus_t (*)(cublasLtMatrixLayout_t)>(cublasLtMatrixLayoutDestroy)>>;
  using Description = std::unique_ptr<
      void, Destroy<cublasLtMatmulDesc_t, static_cast<cublasStatus_t (*)(cublasLtMatmulDesc_t)>(cublasLtMatmulDescDestroy)>>;
  static Layout layout(const ColumnProduct::Matrix& matrix, cudaDataType_t type, std::int64_t count);

  bool has_bias_ = false;
  Layout first_, second_, result_;
  Description description_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::string name_;
  std::size_t workspace_ = 0;  ///< bytes of scratch memory
};

}  // namespace ddl::cuda
