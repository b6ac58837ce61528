#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "estimator/inputs/coefficients.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// A problem of one rank's shard of a layer, and how often the rank runs this problem in one micro-batch.
struct ShardProblem {
  Problem problem;
  int times = 1;
  /// whether the problem, as a part of backward, sums the gradients from the layer's readers, or two gradients of a table
  bool adds_gradients = false;
};

/// Returns the number format in which a layer computes.
[[nodiscard]] Precision precision_of(const ShardContext& context);

/// Returns the work of a problem, per sample of its shard. Casts of weights do not depend on the number of samples.
[[nodiscard]] Work work_of(const ShardProblem& problem, double samples);

/// Returns the name of the pass, as in TimedKernel::pass.
[[nodiscard]] std::string_view kernel_name(const ShardProblem& problem);
[[nodiscard]] Phase phase_of(const ShardProblem& problem);

/// Returns the problems of one rank's shard of a layer, with the shard's shapes and samples and the plan's precision:
/// forward; backward-weight; backward-data if an earlier layer is trained; autocast's casts; additions of the gradients of
/// the layer's output; and additions for a table that an earlier layer owns. Passes without work are omitted. Under
/// autocast, each layer has the precision in which autocast runs it.
[[nodiscard]] std::vector<ShardProblem> shard_problems(const ShardContext& context, const LayerShard& shard);
/// Returns the optimizer's update of the layer's parameters on the rank; empty if the rank has no parameters of the layer.
/// If the framework updates a list of tensors, the result is the update of the whole model, and the layer has a share in it.
[[nodiscard]] std::optional<UpdateProblem> shard_update(const ShardContext& context, const LayerShard& shard);

/// The number of rows of a layer's table on a rank: all rows, or a shard if a tensor split divides the table.
struct TableRows {
  std::int64_t own = 0, all = 0;
  [[nodiscard]] bool is_cut() const { return own < all; }
};
[[nodiscard]] TableRows table_rows(const ShardContext& context);

/// Iterates over the layers of a model for a number of samples. The layers are unsplit, or reduced
/// to one rank's shard of each layer.
class WholeLayers {
 public:
  WholeLayers(const ModelFacts& facts, double samples, Precision precision, Optimizer optimizer,
              const Assumptions& assumptions = {}, const Mesh& mesh = {});
  WholeLayers(const WholeLayers&) = delete;
  WholeLayers& operator=(const WholeLayers&) = delete;

  /// Moves to this layer, and returns its context.
  [[nodiscard]] const ShardContext& at(std::size_t layer);
  [[nodiscard]] const LayerShard& shard() const { return shard_; }

 private:
  Assumptions assumptions_;
  Plan plan_;
  ShardContext context_;
  LayerShard shard_;
};

/// Returns all ways to divide samples into this many tiles, with only one of each pair of mirror images.
[[nodiscard]] std::vector<std::array<int, 3>> tilings(const ModelFacts& facts, int tiles);

/// Returns the distinct problems of the whole model, and of one rank under each of these splits, for each number of samples
/// of a micro-batch. Problems of the whole model come first. Each problem is listed once. Its count is the number of layers
/// with the problem, for the first split and number of samples with the problem. Splits that the model's shape does not
/// allow are skipped.
[[nodiscard]] std::vector<CountedProblem> split_problems(const ModelFacts& facts, const std::vector<Mesh>& splits,
                                                         const std::vector<std::int64_t>& samples, Precision precision,
                                                         Optimizer optimizer, const Software& software = {},
                                                         const Assumptions& assumptions = {});

}  // namespace ddl
