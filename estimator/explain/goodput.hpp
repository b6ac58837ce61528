#pragma once

#include <optional>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The failures and checkpoints of one job.
struct FailureModel {
  Seconds between_failures{};  ///< mean time M between failures of the whole job
  Seconds restart{};           ///< time R from a failure to the first new step
  Seconds checkpoint{};        ///< time δ for which the training waits for a checkpoint
  /// Time in which an asynchronous checkpoint is written while the training continues. The checkpoint cannot be used before.
  Seconds background{};
};

/// Returns the share of the time in which steps are computed that are not repeated, with `every` seconds of steps between
/// checkpoints: τ / (M·e^(R/M)·(e^((τ+δ)/M) − 1)), with the background time added to R [Daly 2006].
[[nodiscard]] double goodput(const FailureModel& model, Seconds every);
/// Returns the time between checkpoints with the highest goodput [Daly 2006], which is Young's √(2δM) for small δ/M
/// [Young 1974]. An asynchronous checkpoint is complete before the next one starts.
[[nodiscard]] Seconds best_checkpoint_interval(const FailureModel& model);
/// Returns the share of the time in which a job waits for the repair of a node, because all spare nodes are used: Erlang's
/// loss formula for `spares` + 1 servers and `in_repair`, the mean number of nodes in repair [Erlang 1917].
[[nodiscard]] double waiting_for_repair(double in_repair, int spares);

/// The part of a whole training's time that failures and checkpoints leave to the steps.
struct Goodput {
  FailureModel model;
  Seconds every{};              ///< training time between checkpoints
  bool is_best = true;          ///< whether the program chose `every`
  bool is_raised = false;       ///< whether the given interval was shorter than a step or a write
  bool has_checkpoints = true;  ///< false if the training ends before its first checkpoint
  Bytes bytes{};                ///< size of a checkpoint
  bool assumed_restart = false;
  double spare_nodes = 0;
  double repair_share = 0;  ///< share of the time in which the job waits for the repair of a node
  double share = 1;         ///< share of the time in which steps are computed that are not repeated
};

/// The restart time if neither the user nor the machine states one [Jiang et al., "MegaScale", NSDI 2024, section 6.3: a
/// failure is found and diagnosed in less than 10 minutes].
inline constexpr Seconds usual_restart{600};

/// Returns the bytes of a checkpoint: each trained weight, its master copy and the optimizer's state once.
[[nodiscard]] Bytes checkpoint_bytes(const Job& job, const Plan& plan);
/// Returns whether the time between failures is known.
[[nodiscard]] bool knows_failures(const Job& job);
/// Returns whether the time for which a checkpoint stops the training is known.
[[nodiscard]] bool knows_checkpoints(const Job& job);
/// Returns the goodput of a training of `length` without failures; empty if failures or checkpoints are unknown, or if the
/// plan has no predicted time. A training that is shorter than the time between checkpoints writes none, and begins anew
/// after a failure.
[[nodiscard]] std::optional<Goodput> goodput_of(const Job& job, const Estimate& estimate, Seconds length);

}  // namespace ddl
