#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/kernels/price_source.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// One part of the breakdown of an iteration: where it is, what it is called, what is being done.
struct TimePart {
  Seconds Breakdown::*part = nullptr;
  std::string_view name;    ///< as a key: `gradient_exchange`
  std::string_view column;  ///< as the heading of a column: `gradients`
  std::string_view doing;   ///< in a sentence: `exchanging gradients`
};
/// All of them, in the order in which Breakdown::iteration adds them.
inline constexpr std::array<TimePart, 10> time_parts{
    {{&Breakdown::forward, "forward", "forward", "computing forward"},
     {&Breakdown::backward, "backward", "backward", "computing backward"},
     {&Breakdown::weight_update, "weight_update", "update", "updating weights"},
     {&Breakdown::gradient_exchange, "gradient_exchange", "gradients", "exchanging gradients"},
     {&Breakdown::layer_collectives, "layer_collectives", "layers", "gathering and summing activations layer by layer"},
     {&Breakdown::halo, "halo", "halo", "exchanging halos between tiles"},
     {&Breakdown::pipeline, "pipeline", "stages", "sending activations from stage to stage"},
     {&Breakdown::bubble, "bubble", "bubble", "waiting in the pipeline"},
     {&Breakdown::input, "input", "input", "waiting for samples"},
     {&Breakdown::waiting, "waiting", "waiting", "waiting for the host, the slowest rank and the framework"}}};

/// One phase of an iteration.
struct PhaseShare {
  TimePart what;
  Seconds time{};    ///< as in the breakdown
  Seconds hidden{};  ///< more of it, which runs beside something else
  PriceSource source = PriceSource::roofline;
  std::string how;                  ///< what the time is made of, in words
  std::optional<BusyLink> busiest;  ///< of its exchanges, where it has any: the link with the largest φ
};

/// One layer: what is priced for it, and what it adds to the iteration. Layers of equal `kind` and stage are alike.
struct LayerExplanation {
  int layer = 0, stage = 0, kind = 0;
  LayerPrices prices;  ///< of one micro-batch
  LayerCosts costs;    ///< of one micro-batch, without recomputation
  /// Its part of the estimate's breakdown: the parts of all layers add up to it. Of a pipeline, time is that of the stages
  /// that decide; the other stages' layers make the bubble. The fused gradient exchange is shared out by parameters,
  /// what crosses a cut is with the layer behind it, waiting for samples with the first that reads them,
  /// and waiting for the host by what it starts for each layer.
  Breakdown time;
};

/// All exchanges of one kind in one iteration, of the stage that decides.
struct ExchangeTotal {
  Collective operation = Collective::allreduce;
  Family axes = 0;
  Phase phase = Phase::forward;
  Purpose purpose = Purpose::layer;
  double count = 0;
  Bytes bytes{};   ///< of the full vectors
  Seconds time{};  ///< hidden or not
};
[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] std::string_view to_string(Purpose purpose);

/// Time of an iteration among others on the network: 5 and 95 % of its distribution.
struct CongestedTime {
  Seconds low{}, high{};
};

/// An estimate taken apart. Phases and layers are empty where the plan could not be priced.
struct Explanation {
  Estimate estimate;
  std::vector<PhaseShare> phases;  ///< in the order of time_parts
  std::vector<LayerExplanation> layers;
  std::vector<ExchangeTotal> exchanges;
  std::optional<CongestedTime> congested;  ///< where the coefficients know of others
  [[nodiscard]] bool priced() const { return !phases.empty(); }
};

/// Of a layer's exchanges of this purpose the one whose flows have the largest φ, the longest of several; null where there
/// is none.
[[nodiscard]] const PricedExchange* most_held_back(const LayerExplanation& layer, Purpose purpose);

/// How often one kernel of the layer runs in an iteration.
[[nodiscard]] double runs_per_iteration(const Plan& plan, Phase phase);

/// How much of the time of all kernels and updates of the plan has a price of each source, in the order of price_sources;
/// all zero where nothing is priced.
[[nodiscard]] std::array<double, price_sources.size()> kernel_time_shares(const Explanation& explanation);

}  // namespace ddl
