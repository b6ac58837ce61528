#pragma once

#include <memory>

#include "profiler/backends/backend_options.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Options of the cuda back end.
struct CudaOptions {
  int device = 0;  ///< index in CUDA's numbering
  ImageLayout layout = ImageLayout::channels_last;
  AlgorithmPreference algorithm = AlgorithmPreference::framework;
};

/// The number of GPUs visible to CUDA; throws Error with the name of the CUDA status if there is none.
[[nodiscard]] int count_cuda_devices();
/// An NVIDIA GPU, with cuDNN, cuBLASLt and our own kernels. Throws Error with the CUDA status's name if there is no GPU.
[[nodiscard]] std::unique_ptr<KernelBackend> make_cuda_backend(const CudaOptions& options);

}  // namespace ddl
