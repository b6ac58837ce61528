#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibration/kernels/kernel_sample.hpp"

namespace ddl {

/// A filter for the rows of a table: a column and its accepted values, as in `gpu=A100-SXM4-80GB`.
using RowFilter = std::pair<std::string, std::vector<std::string>>;

/// The kernels of a file, and the number of rows for which there is no kernel model.
struct KernelTable {
  std::vector<KernelSample> samples;
  std::size_t ignored = 0;
};

/// Reads a table of measured kernels, or a profile. A table is CSV with one of these sets of columns, and possibly others:
///
///   problem,time_s                                          lines of problems, as `predict kernels` prints them; several
///                                                           that were timed together are joined by ` + `
///   dtype,layout_or_op,batch,m,n,k,time_us                  matrix products: m × n results, sums of k
///   dtype,pass,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,groups,time_us   convolutions
///   dtype,pass,batch,seq,heads,kv_heads,head_dim,causal,time_us             fused attention
///   dtype,op,shape,time_us                                  elementwise operations, norms, softmax, dropout, lookups
///
/// Throws Error with a position in the file for missing columns, an invalid number, and a time of zero.
[[nodiscard]] KernelTable read_kernel_table(const std::string& path, std::span<const RowFilter> filters);
/// The kernels of several files, one after the other.
[[nodiscard]] KernelTable read_kernel_tables(std::span<const std::string> paths, std::span<const RowFilter> filters);

}  // namespace ddl
