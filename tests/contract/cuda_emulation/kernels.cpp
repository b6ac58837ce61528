// Contains the back end's own kernels, compiled for the emulation.

// clang-format off
#include "tests/contract/cuda_emulation/grid.hpp"
#include "profiler/backends/cuda/device/arrange.cu"
#include "profiler/backends/cuda/device/attention.cu"
#include "profiler/backends/cuda/device/cast.cu"
#include "profiler/backends/cuda/device/elementwise.cu"
#include "profiler/backends/cuda/device/images.cu"
#include "profiler/backends/cuda/device/lists.cu"
#include "profiler/backends/cuda/device/lstm.cu"
#include "profiler/backends/cuda/device/planes.cu"
#include "profiler/backends/cuda/device/routing.cu"
#include "profiler/backends/cuda/device/rows.cu"
#include "profiler/backends/cuda/device/timing.cu"
#include "profiler/backends/cuda/device/tokens.cu"
// clang-format on
