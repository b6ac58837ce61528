#include "profiler/backends/cuda/matrix_product.hpp"

#include <fmt/format.h>

#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

constexpr std::string_view library = "cuBLASLt";
constexpr int asked = 10;  // maximum number of algorithms requested from the heuristics; all of them are tried
/// The workspace limit of algorithms: NVIDIA's recommendation for Hopper (cuBLAS documentation, cublasSetWorkspace), which
/// PyTorch follows.
constexpr std::size_t room = std::size_t{32} << 20U;

cudaDataType_t data_type_of(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return CUDA_R_16F;
    case Precision::bf16:
      return CUDA_R_16BF;
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp8:
    case Precision::nvfp4:
    case Precision::mxfp8:
    case Precision::mxfp6:
    case Precision::mxfp4:
    case Precision::int8:
      break;
  }
  return CUDA_R_32F;
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name, Value value) {
  check(cublasLtMatmulDescSetAttribute(description, name, &value, sizeof value), library);
}

struct Preference {
  Preference() { check(cublasLtMatmulPreferenceCreate(&handle), library); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { static_cast<void>(cublasLtMatmulPreferenceDestroy(handle)); }
  template <class Value>
  void set(cublasLtMatmulPreferenceAttributes_t name, Value value) {
    check(cublasLtMatmulPreferenceSetAttribute(handle, name, &value, sizeof value), library);
  }
  cublasLtMatmulPreference_t handle = nullptr;
};

template <class Value>
Value configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  Value value{};
  std::size_t written = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written), library);
  return value;
}

std::string name_of(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("cublaslt:algo{}:tile{}:split{}", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

}  // namespace

std::uint32_t alignment_of(std::initializer_list<std::int64_t> offsets, Precision precision) {
  std::uint32_t alignment = 256;
  for (const std::int64_t offset : offsets) {
    while (offset * (is_mixed(precision) ? 2 : 4) % alignment != 0) alignment /= 2;
  }
  return alignment;
}

ColumnProduct by_columns(const Product& product) {
  // A row-major matrix of r rows and c columns is a column-major one of c rows and r columns with a leading dimension of c.
  const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? ColumnProduct::Matrix{rows, columns, rows, rows * columns, true}
                      : ColumnProduct::Matrix{columns, rows, columns, rows * columns, false};
  };
  return {.first = matrix(product.k, product.n, product.b_transposed),
          .second = matrix(product.m, product.k, product.a_transposed),
          .result = matrix(product.m, product.n, false)};
}

ProductRunner::Layout ProductRunner::layout(const ColumnProduct::Matrix& matrix, cudaDataType_t type, std::int64_t count) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, type, static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.leading),
        library);
  Layout layout(raw);
  if (count > 1) {
    const auto matrices = static_cast<std::int32_t>(count);
    check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &matrices, sizeof matrices), library);
    check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.stride,
                                           sizeof matrix.stride),
          library);
  }
  return layout;
}

ProductRunner::ProductRunner(const Device& device, const Product& product, Precision precision, const std::string& key)
    : has_bias_(product.has_bias) {
  const cudaDataType_t type = data_type_of(precision);
  const ColumnProduct columns = by_columns(product);
  first_ = layout(columns.first, type, product.count);
  second_ = layout(columns.second, type, product.count);
  result_ = layout(columns.result, type, product.count);
  cublasLtMatmulDesc_t raw = nullptr;
  check(cublasLtMatmulDescCreate(&raw, precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        library);
  description_.reset(raw);
  const auto transposition = [](const ColumnProduct::Matrix& matrix) -> std::int32_t {
    return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(raw, CUBLASLT_MATMUL_DESC_TRANSA, transposition(columns.first));
  set(raw, CUBLASLT_MATMUL_DESC_TRANSB, transposition(columns.second));
  DeviceMemory bias;  // its address determines the alignment
  if (has_bias_) {
    bias = values(device, product.n, precision);
    set(raw, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS));
    set(raw, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.data()));
  }

  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(room));
  for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.set(name, product.alignment);
  }
  // Partial sums may be added in 16 bits, as PyTorch allows by default
  // (torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction).
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_MASK));
  std::vector<cublasLtMatmulHeuristicResult_t> found(asked);
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(device.products, raw, first_.get(), second_.get(), result_.get(), result_.get(),
                                       preference.handle, asked, found.data(), &count),
        library);
  found.resize(static_cast<std::size_t>(count));

  DeviceMemory a, b, c, workspace;
  const Candidates candidates{
      .key = key,
      .count = found.size(),
      .workspace =
          [&](std::size_t i) {
            check(found[i].state, library);
            return found[i].workspaceSize;
          },
      .time =
          [&](std::size_t i) {
            if (c.bytes() == 0) {
              a = values(device, product.count * product.m * product.k, precision);
              b = values(device, product.count * product.k * product.n, precision);
              c = values(device, product.count * product.m * product.n, precision);
              if (has_bias_) bias = values(device, product.n, precision);
            }
            workspace = DeviceMemory();
            workspace = DeviceMemory(found[i].workspaceSize);
            return shortest_time(device, [&] {
              start(device, found[i].algo, workspace.data(), workspace.bytes(), a.data(), b.data(), c.data(), bias.data());
            });
          },
      .tries = asked,
      // PyTorch requests one algorithm (aten/src/ATen/cuda/CUDABlas.cpp, gemm_and_bias).
      .framework_first = true,
  };
  const std::size_t chosen = choose(device, candidates).index;
  algorithm_ = found.at(chosen).algo;
  name_ = name_of(algorithm_);
  workspace_ = found[chosen].workspaceSize;
  device.workspace.reserve(workspace_);
}

void ProductRunner::start(const Device& device, const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                          std::size_t workspace_bytes, const void* a, const void* b, void* c, const void* bias) {
  if (has_bias_) set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  constexpr float one = 1;
  constexpr float zero = 0;
  check(cublasLtMatmul(device.products, description_.get(), &one, b, first_.get(), a, second_.get(), &zero, c, result_.get(),
                       c, result_.get(), &algorithm, workspace, workspace_bytes, device.stream),
        library);
}

void ProductRunner::run(const Device& device, const void* a, const void* b, void* c, const void* bias) {
  device.workspace.reserve(workspace_);
  start(device, algorithm_, device.workspace.data(), workspace_, a, b, c, bias);
}

}  // namespace ddl::cuda
