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

/// The measured time of one sample of a model on one device, for forward, backward and update together at one batch size.
struct MeasuredModel {
  std::string model;  ///< canonical name
  Precision precision = Precision::fp32;
  double batch = 1;      ///< samples per step of the measurement
  Seconds per_sample{};  ///< forward + backward + update, divided by the batch
  std::string source;
};

/// Measured φ: the time per byte on links of a level while this many flows leave a unit at once, divided by the time per
/// byte on one link alone. φ is below one if a flow has several links to itself.
struct MeasuredContention {
  std::string level;
  double groups = 1;
  double phi = 1;
  std::string source;
};

/// How other jobs on a shared network slow down exchanges that cross a level. The time of an
/// exchange is multiplied by a factor with a log-normal distribution.
struct Congestion {
  std::string level;
  double median = 1;
  double spread = 1;  ///< geometric standard deviation, at least 1
  std::string source;
};

/// The slowdown of kernels and of an exchange while they overlap, relative to running alone. Kernels and exchange share the
/// memory, and either the processors or the copy engines. If the slowdown is not measured, the software's file may give a
/// usual value. Otherwise the slowdown is 1, as for a network that moves bytes without the device.
struct OverlapSlowdown {
  double kernels = 1, exchange = 1;  ///< factors on the times of kernels and of the exchange, at least 1
  std::string source{};
};

/// The fraction s of the measured time of a layer that does not shrink if the layer's filters or
/// channels are split p ways: T(p) = T(1)·(s + (1−s)/p).
struct UndividedFraction {
  double fraction = 0;                   ///< the fraction s, from 0 to 1
  std::string operation{};               ///< type of the measured operation; empty: all operations that have filters
  std::optional<Precision> precision{};  ///< precision of the measurement; unset: any

  [[nodiscard]] bool is_about(std::string_view type, Precision kernel) const {
    return (operation.empty() || operation == type) && (!precision || *precision == kernel);
  }
};

/// Measured values in addition to a machine's datasheet. Without measured values, only the datasheet and rooflines are used.
struct Coefficients {
  std::string name;
  std::string machine;
  std::vector<MeasuredModel> models;
  /// The measured fraction of a layer's time that a filter split does not reduce. If unset, formulas predict it.
  std::optional<UndividedFraction> filter_undivided;
  std::optional<UndividedFraction> channel_undivided;
  std::vector<MeasuredContention> contention{};  ///< measured φ, which replaces the model's φ at the measured levels
  std::vector<Congestion> congestion{};          ///< slowdown by other jobs, with at most one entry per level
  OverlapSlowdown overlap{};
  Settings settings;  ///< settings that the file of coefficients gives for the software of its runs
  Software software;  ///< the software that results from the settings
  MeasuredExchanges exchanges{};
  LearnedFamilies learned;
  /// for each family, the runs that the coefficients were fitted to, if the file gives the error of the fit
  std::vector<std::pair<Family, LearnedRuns>> learned_runs{};
};

}  // namespace ddl
