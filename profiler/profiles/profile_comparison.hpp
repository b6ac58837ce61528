#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// What one pass of one problem took in two profiles, in an iteration. The two backward passes of a layer count as one: many
/// traces do not tell them apart (profiler/importers).
struct ComparedKernel {
  std::string problem{};    ///< the line of the problem without its pass
  std::string operation{};  ///< its first word, and its kind: `pool max`
  std::string pass{};       ///< `forward`, `backward`, or `update`
  std::int64_t layers = 0;  ///< that run it in an iteration
  Seconds first{}, second{};
  std::string first_algorithm{}, second_algorithm{};  ///< in the words of each profile; several with ` + `
  [[nodiscard]] Seconds difference() const { return second - first; }
};

/// All kernels of one operation and pass.
struct ComparedOperation {
  std::string operation{}, pass{};
  std::int64_t kernels = 0;
  Seconds first{}, second{};
  [[nodiscard]] Seconds difference() const { return second - first; }
};

struct ProfileComparison {
  std::vector<ComparedKernel> kernels{};        ///< of both, the largest difference first
  std::vector<ComparedOperation> operations{};  ///< of both, the largest difference first
  Seconds first{}, second{};                    ///< sums over `kernels`
  std::size_t only_first = 0, only_second = 0;  ///< kernels that the other one has no time of
};

/// Compares the times of the kernels that two profiles have in common, each at the full speed of its device. Whole steps and
/// first touches of memory are no kernels. Throws Error where they have none in common.
[[nodiscard]] ProfileComparison compare_profiles(const Profile& first, const Profile& second);

}  // namespace ddl
