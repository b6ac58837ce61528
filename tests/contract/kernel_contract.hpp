#pragma once

#include <string>
#include <vector>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Small problems of every operation that the reference supports, with error-prone cases: strides, padding, groups,
/// dilations, odd sizes, one to three extents. Lines without samples, precision and pass.
[[nodiscard]] std::vector<std::string> contract_problems();

/// Runs forward, then both backward passes, on random values, and compares all written tensors with the reference, to
/// `tolerance` times the largest item. Problems that the back end refuses are counted, not checked. Returns how many ran.
int check_computes(KernelBackend& backend, const std::string& line, Precision precision, double tolerance);

/// Products of numbers that need 12 bits after the binary point. fp32 has to be exact to 1e-5; tensor cores, which read 10
/// bits of fp32 in tf32, are not.
struct ProductBits {
  int ran = 0;      ///< problems; those that the back end refuses are omitted
  int rounded = 0;  ///< of them, those that were not exact to 1e-5
};
[[nodiscard]] ProductBits product_bits_of(KernelBackend& backend, Precision precision);

/// Casts between fp32 and this format, there and back; returns how many of the two ran.
int check_casts(KernelBackend& backend, Precision half);
/// Steps of every optimizer, in every implementation, against their definition.
void check_updates(KernelBackend& backend);

/// For every back end: every operation of the bundled models is prepared and timed, or refused with a reason; times are
/// positive and finite; buffers return what was written.
void check_behaves(KernelBackend& backend);

}  // namespace ddl
