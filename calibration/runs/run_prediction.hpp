#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "calibration/inputs/profile_prices.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/runs/runs.hpp"
#include "core/quantity.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A limit that the plan of a run breaks, and what its model and layer are called.
struct BrokenLimit {
  Limit limit;
  std::string model, layer;  ///< no layer where none sets the limit
};

/// A refusal to predict: what a run does not state or cannot be read, in words, or a limit.
struct Unpredictable {
  std::variant<std::string, BrokenLimit> reason;
};

/// What the estimator makes of measured runs on one machine. Runs that do not say otherwise are taken to be in fp32, with
/// adam for models of sequences and SGD with momentum for all others; input counts where the run includes it. What runs of
/// one model share is worked out once.
class RunPredictor {
 public:
  /// Throws Error of the machine, the coefficients, the software or a profile.
  /// `software`: of runs that do not say theirs, as in StudySpec.
  RunPredictor(std::string machine, std::string coefficients, const ProfileChoice& profiles, std::string software = {},
               KnownKernels known_kernels = KnownKernels::all);

  using Prediction = std::variant<Seconds, Unpredictable>;
  /// The run's quantity, with everything known or (`ideal`) by the closed forms. `coefficients` may differ from
  /// coefficients() in the software and in what is learned, not in its measured times. `sensitivity`: is set to what the
  /// time depends on where it is that of whole steps, and to nothing elsewhere.
  [[nodiscard]] Prediction predict(const MeasuredRun& run, const Coefficients& coefficients, bool ideal = false,
                                   std::optional<TimeSensitivity>* sensitivity = nullptr);

  /// The step of a run that can be predicted, with what its times depend on.
  [[nodiscard]] StepTemplate step_template(const MeasuredRun& run, const Coefficients& coefficients);
  /// What a prediction of this run takes the host to need to start a kernel.
  [[nodiscard]] Seconds launch_overhead(const MeasuredRun& run);

  /// Those of the machine, or the named ones.
  [[nodiscard]] const Coefficients& coefficients() const { return coefficients_; }
  [[nodiscard]] const FoundProfiles& profiles() const { return *profiles_; }
  /// Of profiles at hand: what could not be read, and what is of another device.
  [[nodiscard]] std::vector<std::string> profile_warnings() const;

 private:
  /// Why a run's model cannot be read; empty if it can.
  [[nodiscard]] const std::optional<std::string>& problem_of(const std::string& model);
  /// Why a run's software cannot be read; empty if it can.
  [[nodiscard]] const std::optional<std::string>& problem_of_software(const std::string& software);
  [[nodiscard]] const Study& study(const MeasuredRun& run, bool ideal);

  std::string machine_, coefficients_name_, software_;
  KnownKernels known_kernels_ = KnownKernels::all;
  // What all studies share is read once: the files of a machine take longer to read than a run to predict.
  Machine sheet_;
  Coefficients coefficients_;
  std::map<std::string, Model> models_;
  std::shared_ptr<const FoundProfiles> profiles_;
  /// What runs of one study agree in.
  using StudyKey = std::tuple<std::string, Precision, bool, bool, std::string, Settings>;
  std::map<StudyKey, std::unique_ptr<Study>> studies_;
  std::map<std::string, std::optional<std::string>> problems_, software_problems_;
};

/// A throughput as the time of the iteration that it was measured in, so that every case compares times.
[[nodiscard]] MeasuredRun in_seconds(MeasuredRun run);

}  // namespace ddl
