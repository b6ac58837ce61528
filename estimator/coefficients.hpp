#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/exchanges/collective.hpp"
#include "estimator/exchanges/measured_exchanges.hpp"
#include "estimator/learned.hpp"
#include "model_zoo/precision.hpp"

namespace ddl {

/// One measured total of a model on one device: forward, backward and update of one sample at one batch.
struct MeasuredModel {
  std::string model;  ///< canonical name
  Precision precision = Precision::fp32;
  double batch = 1;      ///< samples per iteration when measured
  Seconds per_sample{};  ///< forward + backward + update, divided by the batch
  std::string source;
};

/// By which way an exchange leaves the device.
enum class Route { direct, host };

/// How the measured software does its exchanges: facts of an implementation, not of the machine.
struct Software {
  std::string name;  ///< empty: nothing is known, the best is assumed
  Route gradient_route = Route::direct;
  Route layer_route = Route::direct;
  Route halo_route = Route::direct;
  /// Whether gradients are exchanged while backward runs; nothing: where that is the shorter way.
  std::optional<bool> overlaps_gradients;
  /// Whether weights that ZeRO-1 and -2 gather after the update arrive while the next forward runs, as with Megatron-LM's
  /// `--overlap-param-gather`.
  bool overlaps_weight_gathers = false;
  /// The Allgathers and Reduce-scatters of a tensor split with sequence parallelism run in pieces, one for each rank, beside
  /// pieces of the matrix products that they belong to, as with Megatron-LM's `--tp-comm-overlap`: one piece runs alone.
  bool overlaps_tensor_exchanges = false;
  /// Stages of a pipeline have equal numbers of the model's blocks where these can be dealt so, as Megatron-LM deals them;
  /// else they are cut where an iteration is shortest.
  bool equal_stages = false;
  /// Fixed Allreduce algorithm of the gradient exchange, and in plans with a filter, channel or spatial degree; nothing:
  /// the cheapest.
  std::optional<AllreduceAlgorithm> gradient_algorithm;
  std::optional<AllreduceAlgorithm> hybrid_gradient_algorithm;
  /// Layer-wise collectives run as flat rings over the rails of the outermost level they cross.
  std::optional<AllreduceAlgorithm> layer_algorithm;
  /// Share of the gradients that the software sends, the largest ones: a sparse Allreduce may then be the cheapest.
  std::optional<double> gradient_density;
  /// Ranks that hold a slice of the filters still exchange gradients of the whole layer.
  bool whole_gradients_in_hybrids = false;
  /// Gradients in hybrids are exchanged layer by layer, one message each, and not fused.
  bool layered_gradients_in_hybrids = false;
  /// What the host takes to start one kernel, with what the framework does for it. It runs ahead of the device: the kernels
  /// and exchanges of a phase take no less together than it takes to start the kernels. Nothing: as the machine's sheet
  /// says, where kernels are priced by the sheet.
  std::optional<Seconds> launch_overhead;
  /// Spatial splits stop after this many weighted layers (model name → layer count); others go as far as they can.
  std::vector<std::pair<std::string, int>> spatial_layers;
};

/// φ as measured: how much longer a byte takes on links of a level while so many flows leave a unit at once, than one link
/// alone needs for it. Below one where a flow has several links to itself.
struct MeasuredContention {
  std::string level;
  double groups = 1;
  double phi = 1;
  std::string source;
};

/// What others on a shared network do to exchanges that cross a level: a factor on their time with a log-normal
/// distribution.
struct Congestion {
  std::string level;
  double median = 1;
  double spread = 1;  ///< geometric standard deviation, at least 1
  std::string source;
};

/// How much longer kernels and an exchange take while both run than each alone: they share the memory, and either the
/// processors or the copy engines. 1 where nothing is measured: a prediction is then of a network that moves bytes without
/// the device. Measured on GPUs, kernels took 1.19 times as long on average and 1.4 times at most [Lee et al., arXiv
/// 2507.03114, abstract]: too wide a range, by model and by library, to assume its middle of a machine that nobody measured.
struct OverlapSlowdown {
  double kernels = 1, exchange = 1;  ///< at least 1
  std::string source{};
};

/// What measurements add to a machine's data sheet. Empty coefficients mean: data sheet and roofline only.
struct Coefficients {
  std::string name;
  std::string machine;
  std::vector<MeasuredModel> models;
  /// Fraction of a matrix layer's time that stays when its filters are split, as measured; nothing: priced by tiles.
  std::optional<double> filter_undivided;
  std::optional<double> channel_undivided;
  std::vector<MeasuredContention> contention{};  ///< overrides φ of the model at their levels
  std::vector<Congestion> congestion{};          ///< at most one a level
  OverlapSlowdown overlap{};
  Software software;
  MeasuredExchanges exchanges{};
  LearnedFamilies learned;
};

}  // namespace ddl
