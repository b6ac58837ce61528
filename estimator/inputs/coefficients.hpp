#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/learned.hpp"
#include "estimator/inputs/measured_exchanges.hpp"
#include "estimator/inputs/sensitivity.hpp"
#include "estimator/inputs/settings.hpp"
#include "estimator/inputs/software.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// One measured total of a model on one device: forward, backward and update of one sample at one batch.
struct MeasuredModel {
  std::string model;  ///< canonical name
  Precision precision = Precision::fp32;
  double batch = 1;      ///< samples per iteration when measured
  Seconds per_sample{};  ///< forward + backward + update, divided by the batch
  std::string source;
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
/// processors or the copy engines. Where nothing is measured, the software's file may say what is usual; else it is 1, as of
/// a network that moves bytes without the device.
struct OverlapSlowdown {
  double kernels = 1, exchange = 1;  ///< at least 1
  std::string source{};
};

/// Of the measured times of layers whose filters or channels are split: T(p) = T(1)·(s + (1−s)/p).
struct UndividedFraction {
  double fraction = 0;                   ///< s, from 0 to 1
  std::string operation{};               ///< type of the operation that was measured; empty: all that have filters
  std::optional<Precision> precision{};  ///< that was measured; nothing: any

  [[nodiscard]] bool is_about(std::string_view type, Precision kernel) const {
    return (operation.empty() || operation == type) && (!precision || *precision == kernel);
  }
};

/// What measurements add to a machine's data sheet. Empty coefficients mean: data sheet and roofline only.
struct Coefficients {
  std::string name;
  std::string machine;
  std::vector<MeasuredModel> models;
  /// What stays of a layer's time when its filters are split, as measured; nothing: priced by formulas.
  std::optional<UndividedFraction> filter_undivided;
  std::optional<UndividedFraction> channel_undivided;
  std::vector<MeasuredContention> contention{};  ///< overrides φ of the model at their levels
  std::vector<Congestion> congestion{};          ///< at most one a level
  OverlapSlowdown overlap{};
  Settings settings;  ///< what the file says of the software of its runs
  Software software;  ///< what settings make of it
  MeasuredExchanges exchanges{};
  LearnedFamilies learned;
  std::vector<std::pair<Family, LearnedRuns>> learned_runs{};  ///< that it was learned from, where the file says how well
};

}  // namespace ddl
