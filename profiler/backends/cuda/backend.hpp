#pragma once

#include <memory>

#include "profiler/backends/backend_options.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// What is asked of the cuda back end.
struct CudaOptions {
  int device = 0;  ///< as CUDA counts them
  ImageLayout layout = ImageLayout::channels_last;
  AlgorithmPreference algorithm = AlgorithmPreference::framework;
};

/// How many GPUs CUDA sees; throws Error with the name of its status where there is none.
[[nodiscard]] int count_cuda_devices();
/// One NVIDIA GPU, by cuDNN, cuBLASLt and kernels of our own. Throws Error with the name of CUDA's status where there is
/// none.
[[nodiscard]] std::unique_ptr<KernelBackend> make_cuda_backend(const CudaOptions& options);

}  // namespace ddl
