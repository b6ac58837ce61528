#pragma once

#include "estimator/kernels/kernel_form.hpp"

namespace ddl {

/// Returns the seconds that a matrix product or a convolution takes at the rates of the datasheet, which no kernel exceeds;
/// zero for other types of kernels, whose FLOPs and bytes are conventions. `work`: one kernel, with `samples` samples. A
/// convolution without matrix units may need fewer multiplications than its FLOPs say: a quarter with Winograd's tiles of
/// 4 × 4 [Lavin and Gray, CVPR 2016], and less with Fourier transforms of tiles [Mathieu, Henaff and LeCun, "Fast training
/// of convolutional networks through FFTs", ICLR 2014].
[[nodiscard]] double datasheet_bound(const Work& work, Pass pass, double samples, const KernelShape& shape,
                                     const DevicePeaks& peaks);

}  // namespace ddl
