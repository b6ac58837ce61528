#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/plan/mesh.hpp"

namespace ddl {

/// Forward and backward of all layers, and of the longest of the stages that they may be cut into.
struct WholeTime {
  Seconds all{}, longest{};
};

/// Returns the ranks along the axes on which it depends what kernels a rank runs, and not only how much each of them has to
/// do: of experts it has a part, and attention to the tokens of other ranks has kernels of its own.
[[nodiscard]] Mesh kernel_axes_of(const Mesh& mesh);
/// Returns the same where ranks exchange heads: each then has all tokens, and the kernels of a rank without other contexts.
[[nodiscard]] Mesh without_contexts(Mesh mesh);

/// Times of layers that no other axis divides than those of `kernel_axes_of`: on one device, or on the ranks of a mesh of
/// such axes that have the same samples, together. Several threads must not use it at once.
class UndividedTimes {
 public:
  /// The tables have to outlive it.
  explicit UndividedTimes(const SplitTables& tables) : tables_(tables), job_(tables.job()) {}

  /// Returns the time for that many samples at once.
  [[nodiscard]] WholeTime whole(double samples, int stages, const Mesh& mesh = {}) const;
  /// Returns a lower bound of the time, for any further split of what ranks of the mesh have of the layers. By roofline it
  /// is the time of that, because each rank reads shared data itself, and no rank fills its tiles better. Measured parts may
  /// be faster than the whole.
  [[nodiscard]] WholeTime least(double samples, int stages, const Mesh& mesh) const;
  /// What the host takes to launch all kernels of a rank that computes a batch at once, and what the device waits for it.
  struct Launch {
    Seconds starts{}, idle{};
  };
  [[nodiscard]] const Launch& launch(double batch, const Mesh& mesh = {}) const;

 private:
  /// Sums up what `time` says of the part of each layer that a rank of a mesh has, at so many samples, once.
  using Sums = std::map<std::pair<double, Mesh>, std::vector<Seconds>>;
  template <class Time>
  const std::vector<Seconds>& running_sums(Sums& known, double samples, const Mesh& mesh, const Time& time) const;
  [[nodiscard]] WholeTime by_stage(const std::vector<Seconds>& sums, int stages) const;

  const SplitTables& tables_;
  const Job& job_;
  mutable Sums whole_, least_;  ///< running sums of the layers' kernels, by samples and mesh
  using TimesBySamples = std::unordered_map<double, WholeTime>;
  mutable std::map<std::pair<int, Mesh>, TimesBySamples> whole_times_, least_times_;  ///< by stages and mesh
  mutable std::map<std::pair<double, Mesh>, Launch> launches_;
};

}  // namespace ddl
