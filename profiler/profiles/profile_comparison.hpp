#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// The time of one pass of one problem in two profiles, per step. The two backward passes of a layer count as one, because
/// many traces do not separate them (profiler/importers).
struct ComparedKernel {
  std::string problem{};    ///< the line of the problem without its pass
  std::string operation{};  ///< the first word of the line, and the kind: `pool max`
  std::string pass{};       ///< `forward`, `backward`, or `update`
  std::int64_t layers = 0;  ///< number of layers that run the problem in a step
  Seconds first{}, second{};
  std::string first_algorithm{}, second_algorithm{};  ///< the library's names in each profile; several joined by ` + `
  [[nodiscard]] Seconds difference() const { return second - first; }
};

struct ComparedOperation {
  std::string operation{}, pass{};
  std::int64_t kernels = 0;
  Seconds first{}, second{};
  [[nodiscard]] Seconds difference() const { return second - first; }
};

struct ProfileComparison {
  std::vector<ComparedKernel> kernels{};        ///< kernels in both profiles; largest difference first
  std::vector<ComparedOperation> operations{};  ///< operations in both profiles; largest difference first
  Seconds first{}, second{};                    ///< sums over `kernels`
  std::size_t only_first = 0, only_second = 0;  ///< kernels that have no time in the other profile
};

/// Compares the times of kernels that are in both profiles. The times of each profile are converted to the full speed of its
/// device. Whole steps and first touches of memory are not kernels. Throws Error if the profiles share no kernel.
[[nodiscard]] ProfileComparison compare_profiles(const Profile& first, const Profile& second);

}  // namespace ddl
