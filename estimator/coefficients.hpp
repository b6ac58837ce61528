#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/collective.hpp"
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
  bool overlaps_gradients = true;
  /// Fixed Allreduce algorithm of the gradient exchange, and in plans with a filter, channel or spatial degree; nothing:
  /// the cheapest.
  std::optional<AllreduceAlgorithm> gradient_algorithm;
  std::optional<AllreduceAlgorithm> hybrid_gradient_algorithm;
  /// Layer-wise collectives run as flat rings over the rails of the outermost level they cross.
  std::optional<AllreduceAlgorithm> layer_algorithm;
  /// Ranks that hold a slice of the filters still exchange gradients of the whole layer.
  bool whole_gradients_in_hybrids = false;
  /// Gradients in hybrids are exchanged layer by layer, one message each, and not fused.
  bool layered_gradients_in_hybrids = false;
  /// Spatial splits stop after this many weighted layers (model name → layer count); others go as far as they can.
  std::vector<std::pair<std::string, int>> spatial_layers;
};

/// What measurements add to a machine's datasheet. Empty coefficients mean: datasheet and roofline only.
struct Coefficients {
  std::string name;
  std::string machine;
  std::vector<MeasuredModel> models;
  /// Fraction of a matrix layer's time that stays when its filters are split, as measured; nothing: priced by tiles.
  std::optional<double> filter_undivided;
  std::optional<double> channel_undivided;
  Software software;
  LearnedFamilies learned;
};

}  // namespace ddl
