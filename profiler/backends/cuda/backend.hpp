#pragma once

#include <memory>

#include "profiler/kernel_backend.hpp"

namespace ddl {

/// What is asked of the cuda back end.
struct CudaOptions {
  /// Images in the device's memory: channels innermost, or behind the samples.
  enum class Layout { nhwc, nchw };
  /// Which of the kernels that a library offers is run: the fastest of those tried, the one that needs least workspace, or
  /// the one that the library's heuristics name first.
  enum class Algorithm { fastest, smallest, first };

  int device = 0;  ///< as CUDA counts them
  Layout layout = Layout::nhwc;
  Algorithm algorithm = Algorithm::fastest;
};

/// How many there are, at least one. Throws Error with the name of CUDA's status where there is none.
[[nodiscard]] int count_cuda_devices();

/// One NVIDIA GPU, by cuDNN, cuBLASLt and kernels of our own. Throws Error with the name of CUDA's status where there is
/// none.
[[nodiscard]] std::unique_ptr<KernelBackend> make_cuda_backend(const CudaOptions& options);

}  // namespace ddl
