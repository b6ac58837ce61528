#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// What a device does in a part of an iteration, in three words.
enum class Spent { computing, exchanging, waiting };
inline constexpr EnumNames<Spent> spent_names{"computing", "exchanging", "waiting"};

/// One part of the breakdown of an iteration: its member, its key, the heading of its column, and what it is spent with.
struct TimePart {
  Seconds Breakdown::*part = nullptr;
  std::string_view name;    ///< as a key: `gradient_exchange`
  std::string_view column;  ///< as the heading of a column: `gradients`
  Spent spent = Spent::computing;
};
/// All of them, in the order in which Breakdown::iteration adds them.
inline constexpr std::array<TimePart, 10> time_parts{
    {{&Breakdown::forward, "forward", "forward"},
     {&Breakdown::backward, "backward", "backward"},
     {&Breakdown::weight_update, "weight_update", "update"},
     {&Breakdown::gradient_exchange, "gradient_exchange", "gradients", Spent::exchanging},
     {&Breakdown::layer_collectives, "layer_collectives", "layers", Spent::exchanging},
     {&Breakdown::halo, "halo", "halo", Spent::exchanging},
     {&Breakdown::pipeline, "pipeline", "stages", Spent::exchanging},
     {&Breakdown::bubble, "bubble", "bubble", Spent::waiting},
     {&Breakdown::input, "input", "input", Spent::waiting},
     {&Breakdown::waiting, "waiting", "waiting", Spent::waiting}}};

/// Forward or backward of a stage. Stages are counted from 0 here and below.
struct KernelsOf {
  int stage = 0, layers = 0;
  Recompute forward_again{};          ///< what of forward backward computes a second time
  int blocks_again = 0;               ///< with full recomputation, of the stage; 0: all
  SelectiveRecompute selected{};      ///< with selective recomputation
  Seconds beside{}, first_touches{};  ///< of the time, what is not kernels': of a whole step, and of fresh memory
};
/// The exchange of all gradients of a stage.
struct GradientsOf {
  int stage = 0;
  double ranks = 1;
  Bytes message{}, weights{};      ///< of gradients, and of the weights that ZeRO gathers
  double rounds = 1, gathers = 0;  ///< as GradientExchange has them
  Route route = Route::direct;
};
/// Gradients that are exchanged layer by layer, of weights that a split leaves whole.
struct WeightsLeftWhole {};
/// The exchanges of one purpose in the layers of a stage.
struct ExchangesOf {
  int stage = 0;
  double count = 0;
  Bytes bytes{};                             ///< of all of them
  std::vector<std::string_view> algorithms;  ///< of collectives, the one that takes most first
  Route route = Route::direct;
};
/// Transfers between stages.
struct TransfersOf {
  double count = 0;
  Bytes each{};
};
struct BubbleOf {
  bool in_slots = false;  ///< each as long as the longest stage
  int waiting_stage = 0;  ///< which decides the time and waits for the others
};
struct WaitingOf {
  Seconds host{}, launch_overhead{};  ///< waiting for the host, and what that takes to start a kernel
  bool learned = false;               ///< the rest is learned from measured runs
  Seconds pages{};                    ///< waiting for managed memory
  double straggler = 1;               ///< time of the slowest device's kernels over that of the others, which wait
  bool moves_activations = false;     ///< or for activations that go to the memory of the host and come back
};
struct UpdateOf {
  int stage = 0;
  double parameters = 0, ranks = 1;  ///< those of the stage, shared among the ranks
};
struct InputOf {
  Bytes bytes{};  ///< on disk
};

/// One phase of an iteration.
struct PhaseShare {
  TimePart what;
  Seconds time{};    ///< as in the breakdown
  Seconds hidden{};  ///< more of it, which runs beside something else
  Provenance source = Provenance::roofline;
  /// The contents of the time; empty if the plan has nothing of this kind.
  using MadeOf = std::variant<std::monostate, KernelsOf, GradientsOf, WeightsLeftWhole, ExchangesOf, TransfersOf, BubbleOf,
                              WaitingOf, UpdateOf, InputOf>;
  MadeOf made_of;
  std::optional<Bottleneck> busiest;  ///< of its exchanges, where it has any: the link with the largest φ
};

/// One layer: its prices, and the time that it adds to the iteration. Layers of equal `kind` and stage are alike.
struct LayerExplanation {
  int layer = 0, stage = 0, kind = 0;
  bool runs_again = false;  ///< backward computes its forward a second time
  LayerPrices prices;       ///< of one micro-batch
  LayerCosts costs;         ///< of one micro-batch, without recomputation
  /// Its part of the estimate's breakdown: the parts of all layers add up to it. Of a pipeline, time is that of the stages
  /// that decide; the other stages' layers make the bubble. The fused gradient exchange is shared out by parameters,
  /// what crosses a cut is with the layer behind it, waiting for samples with the first that reads them,
  /// and waiting for the host by what it starts for each layer.
  Breakdown time;
  Seconds host_waiting{};  ///< of its waiting, what it makes itself: the rest is the whole step's, and with a first layer
};

/// All exchanges of one kind in one iteration, of the stage that determines the time.
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

/// The time of an iteration while other jobs use the network: 5 % and 95 % of its distribution, in seconds.
struct CongestedTime {
  Seconds low{}, high{};
};

/// An estimate taken apart. Phases and layers are empty where the plan could not be priced.
struct Explanation {
  Estimate estimate;
  std::vector<PhaseShare> phases;  ///< in the order of time_parts
  std::vector<LayerExplanation> layers;
  std::vector<ExchangeTotal> exchanges;
  std::optional<CongestedTime> congested;  ///< present if the coefficients describe congestion
  [[nodiscard]] bool priced() const { return !phases.empty(); }
};

/// Returns the exchange of this purpose of a layer whose flows have the largest φ, and the longest one of several; null if
/// there is none.
[[nodiscard]] const PricedExchange* most_held_back(const LayerExplanation& layer, Purpose purpose);

/// Returns how often one kernel of the layer runs in an iteration.
[[nodiscard]] double runs_per_iteration(const Plan& plan, const LayerExplanation& layer, Phase phase);

/// Returns the share of the time of all kernels and updates of the plan by the provenance of its price, in the order of
/// `provenances`; all zero if nothing is priced.
[[nodiscard]] std::array<double, provenances.size()> kernel_time_shares(const Explanation& explanation);

}  // namespace ddl
