#pragma once

#include <string>
#include <vector>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Returns small problems of every operation that the reference supports, as lines without samples, precision and pass. They
/// include error-prone cases: strides, padding, groups, dilations, odd sizes, one to three extents.
[[nodiscard]] std::vector<std::string> contract_problems();

/// Runs forward, then both backward passes, on random values. Compares all written tensors with the
/// reference, with a tolerance of `tolerance` times the largest item. Problems that the back end
/// refuses are not checked. Returns the number of checked problems.
int check_computes(KernelBackend& backend, const std::string& line, Precision precision, double tolerance);

/// The results of products of numbers that need 12 bits after the binary point. fp32 has to be
/// exact to 1e-5. Tensor cores, which read 10 bits of fp32 in tf32, are not exact.
struct ProductBits {
  int ran = 0;      ///< number of problems that the back end does not refuse
  int rounded = 0;  ///< number of problems whose results were not exact to 1e-5
};
[[nodiscard]] ProductBits product_bits_of(KernelBackend& backend, Precision precision);

/// Checks casts from fp32 to this format and back. Returns how many of the two casts the back end supports.
int check_casts(KernelBackend& backend, Precision half);
/// Checks steps of every optimizer, in every implementation, against their definition.
void check_updates(KernelBackend& backend);

/// Checks any back end. Every operation of the bundled models is prepared and timed, or refused
/// with a reason. Times are positive and finite. Buffers return the values that were written.
void check_behaves(KernelBackend& backend);

}  // namespace ddl
