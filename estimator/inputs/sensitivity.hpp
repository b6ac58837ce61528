#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_array.hpp"

namespace ddl {

/// The causes of the error of a predicted time. All times with one cause have the same relative error: if the convolutions
/// of one layer are slower than predicted, so are the convolutions of all layers.
enum class ErrorSource {
  matrix_products,
  convolutions,
  grouped_convolutions,
  attention,
  memory_kernels,     ///< kernels that move data and compute little, and updates of weights
  gradient_exchange,  ///< exchanges of gradients, and of the weights that ZeRO gathers
  layer_exchange,     ///< exchanges within layers and between stages
  halo,
  launches,  ///< the host's time to launch a kernel
  waiting,   ///< waiting for other ranks, and time of software outside of kernels
  input,     ///< reading samples
  /// Filter, channel and spatial splits. Common frameworks do not support these splits, and
  /// programs that support them differ.
  rare_splits
};
inline constexpr EnumNames<ErrorSource> error_source_names{"matrix_products", "convolutions",   "grouped_convolutions",
                                                           "attention",       "memory_kernels", "gradient_exchange",
                                                           "layer_exchange",  "halo",           "launches",
                                                           "waiting",         "input",          "rare_splits"};
inline constexpr std::size_t kernel_sources = 5;  ///< number of kinds of kernels, which are the first enumerators

/// What a predicted time is based on. Enumerators are ordered from most to least reliable.
enum class TimeBasis {
  measured,      ///< a measurement of the same problem
  interpolated,  ///< interpolation between measured problems, or a share of a measured total
  fitted,        ///< a formula fitted to other measurements of this device or network
  transferred,   ///< a formula fitted to other devices or networks
  sheet          ///< the datasheet alone
};
inline constexpr EnumNames<TimeBasis> time_basis_names{"measured", "interpolated", "fitted", "transferred", "sheet"};

/// How much a time T depends on one source of error. All times of the source are multiplied by f,
/// once with f above 1 and once below. The result is ln(T(f)/T) / ln f, where T(f) is the total
/// time. Times that are hidden behind other work count less.
struct Sensitivity {
  ErrorSource source{};
  TimeBasis basis = TimeBasis::sheet;
  double slower = 0, faster = 0;
};

/// A class of models whose steps have the same kinds of kernels and use the same software.
enum class ModelClass { convolutional, transformer, mixture_of_experts };
inline constexpr EnumNames<ModelClass> model_class_names{"convolutional", "transformer", "mixture_of_experts"};

/// What a run has in common with other runs, apart from its kernels and exchanges: the family of its network, and the kind
/// of its network together with its software and with its device.
enum class RunTrait { family, software, device };
inline constexpr EnumNames<RunTrait> run_trait_names{"family", "software", "device"};

/// The measured runs that the coefficients of a plan's family were fitted to, and the error of the fit.
struct LearnedRuns {
  int runs = 0;
  double misfit = 0;     ///< mean |predicted / measured − 1| of the runs, after the fit
  int most_devices = 0;  ///< devices of the largest run; 0 if not known
  double beyond = 0;     ///< number of times that a plan doubles the devices of the largest run
  friend bool operator==(const LearnedRuns&, const LearnedRuns&) = default;
};

/// The sources of error that the time of a step depends on, with the share of each source.
struct TimeSensitivity {
  ModelClass model_class = ModelClass::convolutional;
  std::vector<Sensitivity> sources;  ///< ordered pairs of source and basis, without pairs that have no effect
  std::optional<LearnedRuns> learned;
  std::string software{};                     ///< Software::name
  EnumArray<RunTrait, std::string> traits{};  ///< such as `resnet` and `classification convolutional, pytorch`
  /// The logarithm of the factor by which a step takes longer if a trained router chooses experts; 0 if routing is known.
  double routing = 0;
  /// Standard deviation of the logarithm of the step, with kernels slower and faster, if the factor of the kernels comes
  /// from other networks (KernelScale::spread); 0 if the factor is known.
  double scale_slower = 0, scale_faster = 0;
  bool reads_samples = false;  ///< whether the step reads and prepares images, volumes or sound of a data set
};

}  // namespace ddl
