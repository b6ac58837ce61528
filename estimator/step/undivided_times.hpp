#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/plan/mesh.hpp"

namespace ddl {

/// The time of forward and backward of all layers, and a lower bound of the longest stage for any cuts.
struct WholeTime {
  Seconds all{}, longest{};
};

/// Returns the axes whose degrees change which kernels a rank runs, and not only the sizes of
/// kernels. With an expert degree, a rank has only some experts. With a context degree, attention
/// to the tokens of other ranks uses separate kernels.
[[nodiscard]] Mesh kernel_axes_of(const Mesh& mesh);
/// Returns kernel_axes_of for plans that exchange heads. In such plans, a rank has all tokens, and
/// runs the same kernels as without a context split.
[[nodiscard]] Mesh without_contexts(Mesh mesh);
/// Returns whether plans with these context and expert degrees may exchange heads, and not keys and values.
[[nodiscard]] bool exchanges_heads(const Job& job, const Mesh& mesh);

/// Times of layers that only the axes of `kernel_axes_of` divide. A time is the time of one device,
/// or the sum over all ranks that process the same samples. Not thread-safe.
class UndividedTimes {
 public:
  /// The tables must outlive this object.
  explicit UndividedTimes(const SplitTables& tables) : tables_(tables), job_(tables.job()) {}

  /// Returns the time if a device processes this number of samples at once.
  [[nodiscard]] WholeTime whole(double samples, int stages, const Mesh& mesh = {}) const;
  /// Returns a lower bound of the time for any further split of the layers on the ranks of the mesh. For roofline times, the
  /// bound is the time before the further split, because each rank reads shared data itself, and no rank fills its tiles
  /// better. For measured times, parts may be faster than the whole.
  [[nodiscard]] WholeTime least(double samples, int stages, const Mesh& mesh) const;
  /// The host's time to launch all kernels of a rank that computes a batch at once, and the time that the device waits for
  /// the host.
  struct Launch {
    Seconds launches{}, idle{};
  };
  [[nodiscard]] const Launch& launch(double batch, const Mesh& mesh = {}) const;

 private:
  /// Sums the values of `time` over the layers, for a rank's shard of each layer and this number of
  /// samples. Each sum is computed once.
  using Sums = std::map<std::pair<double, Mesh>, std::vector<Seconds>>;
  template <class Time>
  const std::vector<Seconds>& running_sums(Sums& known, double samples, const Mesh& mesh, const Time& time) const;
  [[nodiscard]] WholeTime by_stage(const std::vector<Seconds>& sums, int stages) const;

  const SplitTables& tables_;
  const Job& job_;
  mutable Sums whole_, least_;  ///< running sums of the layers' kernel times, keyed by samples and mesh
  using TimesBySamples = std::unordered_map<double, WholeTime>;
  mutable std::map<std::pair<int, Mesh>, TimesBySamples> whole_times_, least_times_;  ///< keyed by stages and mesh
  mutable std::map<std::pair<double, Mesh>, Launch> launches_;
};

}  // namespace ddl
