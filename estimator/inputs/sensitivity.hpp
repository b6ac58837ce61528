#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"

namespace ddl {

/// What the error of a predicted time comes from. All prices of one source err together: whatever makes convolutions slower
/// than predicted makes those of all layers slower.
enum class ErrorSource {
  matrix_products,
  convolutions,
  grouped_convolutions,
  attention,
  memory_kernels,     ///< that move data and compute little; updates of weights
  gradient_exchange,  ///< of gradients, and of the weights that ZeRO gathers
  layer_exchange,     ///< of layers and between stages
  halo,
  launches,  ///< the host's time to start a kernel
  waiting,   ///< for other ranks, and what software takes outside its kernels
  input,     ///< reading samples
  /// Filter, channel and spatial splits: no framework has them, and each software that does has its own way.
  rare_splits
};
inline constexpr EnumNames<ErrorSource> error_source_names{"matrix_products", "convolutions",   "grouped_convolutions",
                                                           "attention",       "memory_kernels", "gradient_exchange",
                                                           "layer_exchange",  "halo",           "launches",
                                                           "waiting",         "input",          "rare_splits"};
inline constexpr std::size_t kernel_sources = 5;  ///< the first ones

/// The basis of a predicted time, the nearest to a measurement first.
enum class PriceBasis {
  measured,      ///< the problem itself was measured
  interpolated,  ///< between measured ones, or a measured total shared out
  fitted,        ///< a formula fitted to other measurements of this device or network
  transferred,   ///< the same of other devices
  sheet          ///< the data sheet alone
};
inline constexpr EnumNames<PriceBasis> price_basis_names{"measured", "interpolated", "fitted", "transferred", "sheet"};

/// How much of a time depends on one source: ln(T(f)/T) / ln f for a factor f on all times of the source, for a slower and
/// for a faster source. Of two overlapped parts, the hidden one counts less.
struct Sensitivity {
  ErrorSource source{};
  PriceBasis basis = PriceBasis::sheet;
  double slower = 0, faster = 0;
};

/// Models whose steps have the same kind of kernels and software.
enum class ModelClass { convolutional, transformer, mixture_of_experts };
inline constexpr EnumNames<ModelClass> model_class_names{"convolutional", "transformer", "mixture_of_experts"};

/// The measured runs that the coefficients of a plan's family were fitted to.
struct LearnedRuns {
  int runs = 0;
  double misfit = 0;  ///< mean |predicted / measured − 1| of these runs, after the fit
  friend bool operator==(const LearnedRuns&, const LearnedRuns&) = default;
};

/// What the time of a step depends on, and how much.
struct TimeSensitivity {
  ModelClass model_class = ModelClass::convolutional;
  std::vector<Sensitivity> sources;  ///< each source and basis once, in their order; those without effect left out
  std::optional<LearnedRuns> learned;
};

}  // namespace ddl
