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

/// What a device does in a part of a step.
enum class Spent { computing, exchanging, waiting };
inline constexpr EnumNames<Spent> spent_names{"computing", "communicating", "waiting"};

/// One part of the breakdown of a step: its enumerator, its key, its column heading, and the activity of the device.
struct TimePart {
  Part part{};
  std::string_view name;    ///< name of the part as a key: `gradient_exchange`
  std::string_view column;  ///< name of the part as a heading of a column: `gradients`
  Spent spent = Spent::computing;
};
/// All parts of the breakdown, in the order in which Breakdown::step_time adds them up.
inline constexpr std::array<TimePart, enum_count<Part>()> time_parts{
    {{Part::forward, "forward", "forward"},
     {Part::backward, "backward", "backward"},
     {Part::weight_update, "weight_update", "update"},
     {Part::gradient_exchange, "gradient_exchange", "gradients", Spent::exchanging},
     {Part::layer_collectives, "layer_collectives", "layers", Spent::exchanging},
     {Part::halo, "halo", "halo", Spent::exchanging},
     {Part::pipeline, "pipeline", "stages", Spent::exchanging},
     {Part::bubble, "bubble", "bubble", Spent::waiting},
     {Part::input, "input", "input", Spent::waiting},
     {Part::waiting, "waiting", "waiting", Spent::waiting}}};

/// The forward or backward kernels of a stage. In this file, stages are counted from 0.
struct KernelsOf {
  int stage = 0, layers = 0;
  Recompute forward_again{};            ///< the part of forward that backward recomputes
  int blocks_again = 0;                 ///< with full recomputation, number of recomputed blocks of the stage; 0: all
  SelectiveRecompute selected{};        ///< what selective recomputation recomputes
  Seconds overhead{}, first_touches{};  ///< time outside kernels: step overhead; first touches of fresh memory
};
/// The gradient exchange of a stage.
struct GradientsOf {
  int stage = 0;
  int zero = 0;  ///< the ZeRO stage of the layers
  double ranks = 1;
  Bytes message{}, weights{};      ///< bytes of gradients, and of the weights that ZeRO gathers
  double rounds = 1, gathers = 0;  ///< number of gradient exchanges and of weight gathers
  Route route = Route::direct;
};
/// Gradients of unsplit layers, which are exchanged layer by layer.
struct WeightsLeftWhole {};
/// The exchanges of one purpose in the layers of a stage.
struct ExchangesOf {
  int stage = 0;
  double count = 0;
  Bytes bytes{};                             ///< bytes of these exchanges together
  std::vector<std::string_view> algorithms;  ///< algorithms of collectives, in order of decreasing time
  Route route = Route::direct;
};
struct TransfersOf {
  double count = 0;
  Bytes each{};
};
struct BubbleOf {
  bool in_slots = false;  ///< whether a micro-batch takes as long in every stage as in the longest stage
  int waiting_stage = 0;  ///< the stage that determines the time and waits for the other stages
  double pieces = 1;      ///< number of pieces in which the stages pass on the tokens of a sample
};
struct WaitingOf {
  Seconds host{}, launch_overhead{};  ///< waiting for the host, and the launch overhead of one kernel
  bool learned = false;               ///< whether `waiting` contains time that is fitted to measured runs
  Seconds pages{};                    ///< waiting for pages of managed memory
  double straggler = 1;               ///< kernel time of the slowest device, relative to the devices that wait for it
  /// whether the waiting includes transfers of activations to and from host memory
  bool moves_activations = false;
  bool copies_weights = false;  ///< whether the waiting includes copies of gathered weights and of gradients
};
struct UpdateOf {
  int stage = 0;
  double parameters = 0, ranks = 1;  ///< trained parameters of the stage, and the ranks that share their update
};
struct InputOf {
  Bytes bytes{};       ///< bytes on disk
  Seconds decoding{};  ///< time in which hosts decode the samples
};

struct PhaseShare {
  TimePart what;
  Seconds time{};    ///< time of this part, as in the breakdown
  Seconds hidden{};  ///< overlapped time of this part, in addition to `time`
  Provenance source = Provenance::roofline;
  /// What this part of the step consists of; empty if the plan has no such part.
  using MadeOf = std::variant<std::monostate, KernelsOf, GradientsOf, WeightsLeftWhole, ExchangesOf, TransfersOf, BubbleOf,
                              WaitingOf, UpdateOf, InputOf>;
  MadeOf made_of;
  std::optional<Bottleneck> busiest;  ///< the link with the largest φ among the links that exchanges of this part use
};

/// One layer: its costs, and its contribution to the time of a step. Layers with the same `kind` and stage are equal.
struct LayerExplanation {
  int layer = 0, stage = 0, kind = 0;
  bool runs_again = false;  ///< whether backward recomputes the forward of this layer
  LayerDetail detail;       ///< details of one micro-batch
  LayerCosts costs;         ///< costs of one micro-batch, without recomputation
  /// The layer's part of the estimate's breakdown. The parts of all layers add up to the whole breakdown. In a pipeline,
  /// layers of the stages that determine the time contribute their time, and layers of the other stages contribute to the
  /// bubble. The fused gradient exchange is distributed by parameters. A transfer between stages counts for the first layer
  /// of the receiving stage. Waiting for samples counts for the first layer that reads them. Waiting for the host is
  /// distributed by the number of launches of each layer.
  Breakdown time;
  /// the part of the waiting that this layer causes; waiting of the whole step counts for the first layer
  Seconds host_waiting{};
};

/// All exchanges with one operation, axes, phase and purpose in one step, in the stage that determines the time.
struct ExchangeTotal {
  Collective operation = Collective::allreduce;
  Family axes = 0;
  Phase phase = Phase::forward;
  Purpose purpose = Purpose::layer;
  double count = 0;
  Bytes bytes{};     ///< bytes of the full vectors
  Seconds time{};    ///< overlapped and exposed time
  Seconds hidden{};  ///< the part of `time` behind kernels of the same layer
};
template <>
inline constexpr EnumNames<Phase> enum_names<Phase>{"forward", "backward", "gradient"};
template <>
inline constexpr EnumNames<Purpose> enum_names<Purpose>{"layer", "halo", "gradient", "pipeline"};

/// The time of a step while other jobs use the network, as 5 % and 95 % quantiles of its distribution, in seconds.
struct CongestedTime {
  Seconds low{}, high{};
};

/// An estimate in detail. Phases and layers are empty if no time could be predicted for the plan.
struct Explanation {
  Estimate estimate;
  std::vector<PhaseShare> phases;  ///< parts of a step, in the order of time_parts
  std::vector<LayerExplanation> layers;
  std::vector<ExchangeTotal> exchanges;
  std::optional<CongestedTime> congested;  ///< present if the coefficients describe congestion
  [[nodiscard]] bool has_time() const { return !phases.empty(); }
};

/// Returns the estimate of a plan, broken down by layer and by phase, even if it has more devices than the machine has.
[[nodiscard]] Explanation explain(const Estimator& estimator, const Plan& plan);

/// Among a layer's exchanges with this purpose, returns the exchange whose flows have the largest φ, and of several such
/// exchanges the longest. Null if the layer has no exchange with this purpose.
[[nodiscard]] const TimedExchange* most_slowed(const LayerExplanation& layer, Purpose purpose);

/// Returns how often each kernel of the layer runs in a step.
[[nodiscard]] double runs_per_iteration(const Plan& plan, const LayerExplanation& layer, Phase phase);

}  // namespace ddl
