#pragma once

#include <memory>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// A fully connected layer in fp32 by the device's BLAS. The output is initialized with the bias, and the bias gradient is
/// summed separately, as in PyTorch.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_blas_fully_connected(const Device& device, const Problem& problem);

/// Whether PyTorch computes this convolution as matrix products: 1x1 without stride or dilation, on one thread, with fewer
/// than 16 samples [PyTorch 1.13, aten/src/ATen/native/Convolution.cpp, ConvParams::use_mkldnn].
[[nodiscard]] bool is_product_of_framework(const Device& device, const Problem& problem);
/// Runs a convolution for which is_product_of_framework() is true by the device's BLAS, sample by sample.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_blas_convolution(const Device& device, const Problem& problem);

}  // namespace ddl::onednn
