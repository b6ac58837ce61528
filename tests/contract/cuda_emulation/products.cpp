// Emulates cuBLASLt's matrix product by its definition: D = op(A)·op(B), column-major matrices,
// with a bias for each row of D.

#include <cstring>

#include <cublasLt.h>

#include "tests/contract/cuda_emulation/numbers.hpp"

namespace {

struct MatrixLayout {
  cudaDataType type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Description {
  std::int32_t first_operation = CUBLAS_OP_N, second_operation = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

template <class Part, class Handle>
Part& part(Handle handle) {
  return *reinterpret_cast<Part*>(handle);
}
ddl::Precision precision_of(cudaDataType type) {
  return type == CUDA_R_16F ? ddl::Precision::fp16 : type == CUDA_R_16BF ? ddl::Precision::bf16 : ddl::Precision::fp32;
}
cublasStatus_t copy(void* to, const void* from, std::size_t wanted, std::size_t bytes) {
  if (wanted != bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int any = 0;
  *handle = reinterpret_cast<cublasLtHandle_t>(&any);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS"; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "emulated"; }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new MatrixLayout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return leading >= static_cast<std::int64_t>(rows) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<MatrixLayout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, size_t bytes) {
  auto& its = part<MatrixLayout>(layout);
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return copy(&its.batch, value, sizeof its.batch, bytes);
  if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return copy(&its.stride, value, sizeof its.stride, bytes);
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute, cudaDataType_t) {
  auto* its = new Description();
  its->compute = compute;
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(its);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  auto& its = part<Description>(description);
  if (name == CUBLASLT_MATMUL_DESC_TRANSA) return copy(&its.first_operation, value, sizeof its.first_operation, bytes);
  if (name == CUBLASLT_MATMUL_DESC_TRANSB) return copy(&its.second_operation, value, sizeof its.second_operation, bytes);
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) return copy(&its.epilogue, value, sizeof its.epilogue, bytes);
  if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) return copy(&its.bias, value, sizeof its.bias, bytes);
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t result, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int asked, cublasLtMatmulHeuristicResult_t* found,
                                              int* count) {
  // Odd sizes have no bias, so that both implementations are tested. Otherwise there are two
  // candidates, of which the first needs more workspace.
  if (part<Description>(description).epilogue == CUBLASLT_EPILOGUE_BIAS && part<MatrixLayout>(result).rows % 2 != 0) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  *count = asked < 2 ? asked : 2;
  for (int i = 0; i < *count; ++i) {
    found[i] = {};
    found[i].state = CUBLAS_STATUS_SUCCESS;
    found[i].workspaceSize = i == 0 ? 1024 : 0;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t bytes, size_t* written) {
  std::memset(value, 0, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void*,
                              const void*, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  const auto& its = part<Description>(description);
  const auto& first = part<MatrixLayout>(a_layout);
  const auto& second = part<MatrixLayout>(b_layout);
  const auto& result = part<MatrixLayout>(d_layout);
  const bool turns_first = its.first_operation == CUBLAS_OP_T;
  const bool turns_second = its.second_operation == CUBLAS_OP_T;
  const std::int64_t m = turns_first ? first.columns : first.rows;
  const std::int64_t k = turns_first ? first.rows : first.columns;
  const std::int64_t n = turns_second ? second.rows : second.columns;
  if (k != (turns_second ? second.columns : second.rows) || m != result.rows || n != result.columns) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  ddl::emulation::launched();
  constexpr int tf32_bits = 10;
  constexpr int all_bits = 23;
  ddl::emulation::product_bits() = its.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? tf32_bits : all_bits;
  const ddl::Precision precision = precision_of(result.type);
  const ddl::emulation::Numbers left(a, precision), right(b, precision), to(d, precision), bias(its.bias, precision);
  for (std::int64_t matrix = 0; matrix < result.batch; ++matrix) {
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          sum += left.factor(matrix * first.stride + (turns_first ? row * first.leading + i : i * first.leading + row)) *
                 right.factor(matrix * second.stride +
                              (turns_second ? i * second.leading + column : column * second.leading + i));
        }
        sum *= static_cast<double>(*static_cast<const float*>(alpha));
        if (its.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += bias.at(row);
        to.set(matrix * result.stride + column * result.leading + row, sum);
      }
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
