#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/profile_times.hpp"
#include "calibration/inputs/software_file.hpp"
#include "core/margin.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/dataset.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// The measured kernels that a study may use. Values other than `all` are used to test how accurate predictions are with
/// less data.
enum class KnownKernels { all, of_other_devices, none };

/// The input of a study: names and choices, before any file is read. Empty names have a default, which depends on the model.
struct StudySpec {
  std::string model = "resnet50";
  std::optional<std::int64_t> sequence;  ///< tokens of a sample; unset: the model's own
  /// tokens of a document in packed sequences; unset: a sequence is one document
  std::optional<std::int64_t> packed_length;
  std::string dataset;         ///< empty: the data set that fits the model's input
  bool reads_dataset = false;  ///< whether a measured step read samples (MeasuredRun::includes_io)
  std::string machine = "dgx-a100";
  /// coefficients: a file, a bundled name, or `none`. If empty: the bundled coefficients of a
  /// bundled machine, or the coefficients that belong to a machine file (own_coefficients).
  std::string coefficients;
  /// software: a file, a bundled name, or `none`. If empty: the software of the coefficients' runs,
  /// otherwise that of the machine (Machine::software), otherwise usual_software.
  std::string software;
  std::optional<Precision>
      precision;  ///< unset: the precision of the model's profile, else mixed precision for sequences, else tf32, else fp32
  std::optional<Optimizer> optimizer;  ///< unset: adam for sequences, SGD with momentum for everything else
  Settings settings;        ///< settings of the run, the job or the options; they override the software's settings
  Assumptions assumptions;  ///< the assumptions that settings change; ideal_assumptions() for closed forms
  ProfileChoice profiles;
  std::optional<Bytes> device_memory;  ///< unset: the memory in the machine's datasheet
  Margin margin;                       ///< the part of the memory that must stay free
  KnownKernels known_kernels = KnownKernels::all;
  /// The result of find_profiles for `profiles`. Several studies can share this result.
  std::shared_ptr<const FoundProfiles> found_profiles{};
};

/// The inputs of a study, read from its files.
struct StudyInputs {
  Model model;
  Dataset dataset;
  Machine machine;
  Coefficients coefficients;
  SoftwareFile software;  ///< empty if there is no software
  std::shared_ptr<const FoundProfiles> profiles;
};
/// Reads the files that `spec` names. Throws Error for unknown names and unreadable files.
[[nodiscard]] StudyInputs load_inputs(const StudySpec& spec);

/// A job together with its model, data set, machine, coefficients, and predicted kernels. A Study
/// is not movable, because these parts refer to each other.
class Study {
 public:
  /// Throws Error for unknown names, unreadable files, a named data set that does not fit the model, a precision that the
  /// device lacks, and a margin that leaves no memory.
  explicit Study(const StudySpec& spec) : Study(spec, load_inputs(spec)) {}
  /// Uses inputs that were read before. `spec` gives the other choices, and shows whether the user named the data set.
  Study(StudySpec spec, StudyInputs inputs);
  Study(const Study&) = delete;
  Study& operator=(const Study&) = delete;

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }
  /// The machine. The memory of its devices is the memory that a plan may use.
  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// device_memory() is all memory of a device; margin() is the memory that must stay free.
  [[nodiscard]] Bytes device_memory() const { return device_memory_; }
  [[nodiscard]] Bytes margin() const { return device_memory_ - machine_.device.memory; }
  /// The coefficients, completed by values of the software.
  [[nodiscard]] const Coefficients& coefficients() const { return coefficients_; }
  /// Returns coefficients of this study's machine, completed by values of the software.
  [[nodiscard]] Coefficients completed(Coefficients coefficients) const;
  /// The software file with the settings that are used; empty if there is no file.
  [[nodiscard]] const SoftwareFile& software() const { return software_; }
  [[nodiscard]] const KernelTimes& kernels() const { return *kernels_; }
  /// The assumptions. Choices that the spec does not set have the value of the software.
  [[nodiscard]] const Assumptions& assumptions() const { return assumptions_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] Optimizer optimizer() const { return optimizer_; }
  [[nodiscard]] const StudySpec& spec() const { return spec_; }
  /// The profiles that kernel times are based on. Kernel times use no profile if kernels().measured() is null.
  [[nodiscard]] const FoundProfiles& profiles() const { return *profiles_; }
  /// Warnings about measurements that are not used, one line each.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  StudySpec spec_;
  Model model_;
  ModelFacts facts_;
  Dataset dataset_;
  Machine machine_;
  Bytes device_memory_{};
  Coefficients coefficients_;
  SoftwareFile software_;
  Assumptions assumptions_;
  Precision precision_ = Precision::fp32;
  Optimizer optimizer_ = Optimizer::momentum;
  std::shared_ptr<const FoundProfiles> profiles_;
  std::vector<std::string> warnings_;
  /// Completes coefficients, machine and assumptions with the software's values.
  void use_software();

  // `kernels_` and `job_` are created last, because they depend on the other members.
  std::unique_ptr<const KernelTimes> kernels_;
  std::unique_ptr<const Job> job_;
};

/// The coefficients that a study of this machine uses. Throws Error for an unknown name, an unreadable file, and
/// coefficients of another machine.
[[nodiscard]] Coefficients coefficients_of(const StudySpec& spec, const Machine& machine);

/// The software file that a study uses. If the spec names no software, the software of the coefficients' runs is used, else
/// that of the machine, else usual_software. There are two exceptions. For a sequence model (`sequences`), the next of these
/// replaces a software that trains only image models. If the software of the runs has no file, the result has no name, and
/// only the launch overhead of the next. Throws Error for an unknown name and an unreadable file.
[[nodiscard]] SoftwareFile software_of(const StudySpec& spec, const Machine& machine, const Coefficients& coefficients,
                                       bool sequences = false);

/// The part of a device's memory that the margin leaves. Throws Error if none is left.
[[nodiscard]] Bytes available_memory(Bytes device_memory, const Margin& margin);
/// Throws Error if the device's datasheet has no peak for the precision.
void require_precision(Precision precision, const Device& device);
/// Returns a warning that profiles with this name (MeasuredKernels) have no kernel of the precision.
[[nodiscard]] std::string unused_profile_warning(Precision precision, const std::string& profiles);

/// Returns whether the model's tensors are images or volumes, which may have their channels first or last in memory.
[[nodiscard]] bool has_layout(const Model& model);
/// Returns the default data set for a model's input. The first choice is a data set with samples of the same shape. The
/// second, if the input is not a flat vector, is the data set nearest in size with the same number of channels. The last is
/// a common data set of about the same size.
[[nodiscard]] std::string default_dataset(const Model& model);
/// The name of the default data set of a model that no bundled data set is known to train.
inline constexpr std::string_view unknown_dataset = "unknown";
/// Returns the data set with this name; without a name, the default if the model may be trained on it, else an unknown data
/// set.
[[nodiscard]] Dataset dataset_of(const std::string& name, const Model& model);
/// Returns whether a model is trained on such a data set: its samples have the shape of the model's input, or both are text,
/// or the model classifies images like these.
[[nodiscard]] bool is_of_task(const Dataset& dataset, const Model& model);

}  // namespace ddl
