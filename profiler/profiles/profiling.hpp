#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "profiler/backends/kernel_backend.hpp"
#include "profiler/measurement/measurement.hpp"
#include "profiler/measurement/sequence.hpp"
#include "profiler/measurement/speed_watch.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// What is to be measured: problems one by one, and a model as a whole at several numbers of samples.
struct ProfilePlan {
  std::vector<CountedProblem> problems{};
  std::optional<Model> model{};           ///< run as a whole; nothing: never
  std::vector<std::int64_t> sequences{};  ///< samples of each run as a whole
  Precision precision = Precision::fp32;  ///< of those
  Optimizer optimizer = Optimizer::sgd;   ///< of those
  SamplingRule rule{};
  CacheState caches = CacheState::step;
  StepStart step_start = StepStart::kernels;

  /// A problem each, then the parts of each run as a whole.
  [[nodiscard]] std::size_t items() const;
  /// The line of the row that an item gives.
  [[nodiscard]] std::string line(std::size_t item) const;
};

/// Why the back end runs none of the plan's problems, as it says of the first; empty where it runs one, or none is asked
/// for.
[[nodiscard]] std::string refusal_of_all(const KernelBackend& backend, const ProfilePlan& plan);

/// Measures the items of a plan. Steps of the whole model are taken between
/// problems on as many samples, so that a machine that is slow for a while is slow for both.
class Profiling {
 public:
  Profiling(KernelBackend& backend, const ProfilePlan& plan);

  /// The row of one item; nothing where it was stopped before there was a sample. DeviceLost says which problem it was, or
  /// that it was a step of the whole model, which is run between its problems.
  [[nodiscard]] std::optional<ProfileRow> measure_item(std::size_t item, const std::function<bool()>& stop = {});

 private:
  KernelBackend& backend_;
  const ProfilePlan& plan_;
  /// The steps of the whole model on so many samples, taken between its problems on as many.
  struct WholeSteps {
    std::unique_ptr<SequenceSampling> sampling{};
    std::vector<double> looks{};
    DeviceState state{};                   ///< at the last of them
    std::size_t problems = 0, passed = 0;  ///< of so many samples
  };
  /// Looks at the device, and returns the mean of this look and of the one before, and the state of this one.
  [[nodiscard]] SpeedLook look();
  [[nodiscard]] std::string line_of_step(std::int64_t samples) const;
  void take_step(std::int64_t samples, WholeSteps& steps);
  void run_step(std::int64_t samples, WholeSteps& steps);
  void step_between(const std::string& line);
  [[nodiscard]] std::vector<ProfileRow> rows_of(const WholeSteps& steps) const;

  std::map<std::int64_t, WholeSteps> steps_{};
  std::unordered_map<std::string, std::int64_t> samples_of_{};  ///< of the problems of the whole model
  std::map<std::string, ProfileRow> parts_{};                   ///< of runs as a whole that are done, by line
  std::optional<SpeedWatch> watch_{};                           ///< nothing where the back end cannot run its kernel
  SpeedLook last_look_{};
};

/// How much the speed of a device varied while a profile was measured.
struct Steadiness {
  double slowest = 1;     ///< longest look over that of full speed
  double slow_share = 0;  ///< of the rows around which it was slower than full speed by more than a tenth
  double lowest_clock_hz = 0, highest_clock_hz = 0;  ///< of the rows; 0 where the driver did not say
  /// What the driver names as reasons for lower clocks, each with the share of the rows around which it did.
  std::vector<std::pair<std::string, double>> slowed_by{};
};
[[nodiscard]] Steadiness steadiness_of(const Profile& profile);

/// What one step of a model takes as a whole beside what its problems take, measured one by one.
struct SumCheck {
  std::int64_t samples = 1;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::sgd;
  bool graph = false;  ///< the step was a CUDA graph
  Seconds whole{}, parts{};
  int kernels = 0;  ///< that do anything
  /// Σ parts / whole − 1.
  [[nodiscard]] double error() const { return parts / whole - 1; }
};
/// For every step of the model that was run as a whole, the means of all samples: they add up. Steps whose problems are not
/// all in the profile are left out.
[[nodiscard]] std::vector<SumCheck> sum_checks(const Profile& profile, const Model& model);

}  // namespace ddl
