#pragma once

#include "estimator/exchanges/exchange.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/software.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"

// The functions decide which exchanges, transfers and reads of a step are overlapped, and with which work. Tasks store the
// decisions. run(), bounds, explanations and timelines read the decisions from the tasks.

namespace ddl {

struct LayerCosts;

/// The work that overlaps with an activity, such as a gradient exchange, that happens once per step.
enum class Window {
  none,          ///< no work: the activity is exposed
  backward,      ///< backward kernels; each exchange of gradients overlaps with one micro-batch's kernels
  computing,     ///< kernels of forward and backward of all micro-batches
  next_forward,  ///< the first forward of the next step
  step           ///< the whole step
};

/// Returns the window of gradient exchanges, and of ZeRO's weight gathers for forward and backward (`gathers`: whether there
/// are any). The exchanges overlap if the software overlaps them. If the software is unknown, the exchanges overlap if this
/// is not slower. While they overlap, kernels and exchanges together progress at 1/s_c + 1/s_x of their separate rates.
[[nodiscard]] Window window_of_gradients(const Coefficients& coefficients, const Assumptions& assumptions, bool gathers);
/// Returns the window of the gathers of weights after the update of ZeRO-1 and ZeRO-2.
[[nodiscard]] Window window_of_gathers(const Coefficients& coefficients, const Assumptions& assumptions);
/// Returns the window of the reads of samples.
[[nodiscard]] Window window_of_input(const Assumptions& assumptions);

/// Returns the share of a layer's exchange that is not hidden behind kernels; 1 if the exchange is
/// not overlapped with the layer's kernels.
[[nodiscard]] double exposed_share(const Job& job, const Exchange& exchange, const Group& group);
/// Returns the minimum of exposed_share over all exchanges along an axis that divides layers.
[[nodiscard]] double least_exposed_share(const Job& job, const Plan& plan, Axis axis);

/// Returns the share of exchanges that is hidden behind kernels, if both take these times alone. Until either kernels or
/// exchanges are done, kernels run at 1/s_c of their speed, and exchanges at 1/s_x of their speed.
[[nodiscard]] double hidden_share(const OverlapSlowdown& slowdown, Seconds kernels, Seconds exchanges);

/// Returns whether the software hides the All-to-alls of experts under a plan (may_hide_expert_exchanges).
[[nodiscard]] bool hides_expert_exchanges(const Software& software, const Plan& plan);
/// Returns the share of the experts' All-to-alls that is hidden behind the compute of another micro-batch, averaged over all
/// micro-batches of a stage with these costs.
[[nodiscard]] double hidden_share_of_experts(const Job& job, const Plan& plan, const LayerCosts& costs, int stage);
/// Returns the largest value of hidden_share_of_experts over all assignments of layers to stages and all numbers of virtual
/// stages.
[[nodiscard]] double most_hidden_share_of_experts(const Job& job, const Plan& plan, const LayerCosts& costs);

}  // namespace ddl
