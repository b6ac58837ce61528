#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/software.hpp"

namespace ddl {

/// How a framework trains, as its file says it (docs/software.md). What it does not say is unset.
struct SoftwareFile {
  std::string name, description;
  Software facts;
  /// What the host takes to start one kernel, on the host where that was measured (Device::host_speed is 1 there).
  std::optional<Seconds> launch_overhead;
  std::optional<MemoryFormat> memory_format;
  std::optional<MemoryFormat> memory_format_of_fp32;  ///< in fp32 and tf32, where it is another
  std::optional<MixedPrecision> mixed_precision;
  std::optional<GradientSums> gradient_sums;
  std::optional<CrossEntropy> cross_entropy;
  std::optional<AttentionKernels> attention;
  std::optional<Fusing> fusing;
  std::optional<CompositeKernels> composites, sinks;
  std::optional<ExpertBiases> expert_biases;
  std::optional<BiasKernels> convolution_biases, linear_biases;
  std::optional<SelectiveRecompute> selective;
  std::optional<UpdateImplementation> update;
  std::optional<double> beside_update;
  std::optional<bool> copies_volumes, own_half_norms, older_framework, flat_gradients, keeps_sent, engine_groups;
  bool images_only = false;  ///< nobody trains models of sequences with it
  AdmittedChoices admits{};  ///< what a search may choose

  /// What the file says, or the file that it extends, in the order of the keys in docs/software.md.
  struct Line {
    std::string key, value, source;
  };
  std::vector<Line> lines{};
};

/// Names of the bundled software files, sorted.
[[nodiscard]] std::vector<std::string> software_names();
/// A bundled file by name, or the user's own where `name_or_path` is a path. Throws Error, with "did you mean", on a name
/// that is none, and on a file that cannot be understood.
[[nodiscard]] SoftwareFile load_software(const std::string& name_or_path);
[[nodiscard]] SoftwareFile parse_software(std::string text, std::string origin);

/// The software that a study takes where neither it nor the coefficients name one.
inline constexpr std::string_view usual_software = "pytorch";
/// What coefficients call the software of runs that do not name it.
inline constexpr std::string_view unnamed_software = "that of the runs";
/// The name that stands for a software that loses no time: nothing is started by a host, copied or waited for.
inline constexpr std::string_view no_software = "none";

}  // namespace ddl
