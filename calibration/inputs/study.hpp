#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/profile_prices.hpp"
#include "calibration/inputs/software_file.hpp"
#include "core/margin.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/dataset.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Which measured kernels a study may use. Anything but all of them says how good prices are where less is known.
enum class KnownKernels { all, of_other_devices, none };

/// A question: names and choices, before anything is looked up. Empty names take the default, which
/// depends on the model.
struct StudySpec {
  std::string model = "resnet50";
  std::optional<std::int64_t> sequence;       ///< tokens of a sample; unset: the model's own
  std::optional<std::int64_t> packed_length;  ///< tokens of a document in packed sequences; unset: a sequence is one
  std::string dataset;                        ///< empty: the data set that fits the model's input
  std::string machine = "dgx-a100";
  /// A file, a bundled name, or `none`; empty: those bundled with the machine, where that is bundled itself, and those that
  /// come with a machine file (own_coefficients).
  std::string coefficients;
  /// A file, a bundled name, or `none`; empty: that of the coefficients' runs, else usual_software.
  std::string software;
  std::optional<Precision>
      precision;  ///< unset: that of a profile of the model, else mixed for sequences, else tf32, else fp32
  std::optional<Optimizer> optimizer;  ///< unset: adam for sequences, SGD with momentum for everything else
  Settings settings;                   ///< of the run, the job or the options, in place of what the software does
  Assumptions assumptions;             ///< what settings change: ideal_assumptions() for closed forms
  ProfileChoice profiles;
  std::optional<Bytes> device_memory;  ///< unset: of the machine's sheet
  Margin margin;                       ///< of that memory, kept free
  KnownKernels known_kernels = KnownKernels::all;
  /// What find_profiles has made of that choice, if there are many studies.
  std::shared_ptr<const FoundProfiles> found_profiles{};
};

/// What a study is about, read from its files.
struct StudyInputs {
  Model model;
  Dataset dataset;
  Machine machine;
  Coefficients coefficients;
  SoftwareFile software;  ///< empty where none is meant
  std::shared_ptr<const FoundProfiles> profiles;
};
/// Reads what `spec` names. Throws Error on unknown names and unreadable files.
[[nodiscard]] StudyInputs load_inputs(const StudySpec& spec);

/// A job with everything it refers to: model, data set, machine and coefficients read, kernels priced. Not movable, since
/// its parts refer to each other.
class Study {
 public:
  /// Throws Error on unknown names, unreadable files, a data set that was named and does not fit the model, a precision the
  /// device does not have, and a margin that leaves nothing of its memory.
  explicit Study(const StudySpec& spec) : Study(spec, load_inputs(spec)) {}
  /// Of inputs that were read before. `spec` still says what is chosen, and whether the data set was named.
  Study(StudySpec spec, StudyInputs inputs);
  Study(const Study&) = delete;
  Study& operator=(const Study&) = delete;

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }
  /// Its devices have the memory that a plan may use.
  [[nodiscard]] const Machine& machine() const { return machine_; }
  /// All memory of a device, and what of it is kept free.
  [[nodiscard]] Bytes device_memory() const { return device_memory_; }
  [[nodiscard]] Bytes margin() const { return device_memory_ - machine_.device.memory; }
  /// With what the software does where they do not say it.
  [[nodiscard]] const Coefficients& coefficients() const { return coefficients_; }
  /// Other coefficients of this study's machine, completed in the same way.
  [[nodiscard]] Coefficients completed(Coefficients coefficients) const;
  /// What is used of a software's file; empty where that is none.
  [[nodiscard]] const SoftwareFile& software() const { return software_; }
  [[nodiscard]] const KernelPrices& kernels() const { return *kernels_; }
  /// With what the software does where the spec leaves a choice open.
  [[nodiscard]] const Assumptions& assumptions() const { return assumptions_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] Optimizer optimizer() const { return optimizer_; }
  [[nodiscard]] const StudySpec& spec() const { return spec_; }
  /// Measured kernels that kernel times are based on; none if kernels().measured() says so.
  [[nodiscard]] const FoundProfiles& profiles() const { return *profiles_; }
  /// Of what was measured and is not used, each one line.
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
  /// Completes coefficients, machine and assumptions with what the software says.
  void use_software();

  // Made once the rest is known.
  std::unique_ptr<const KernelPrices> kernels_;
  std::unique_ptr<const Job> job_;
};

/// The coefficients that a study of this machine uses. Throws Error on an unknown name, an unreadable file, and coefficients
/// of another machine.
[[nodiscard]] Coefficients coefficients_of(const StudySpec& spec, const Machine& machine);

/// The file of the software that a study takes: that of measured runs is not taken for a model of sequences (`sequences`)
/// where it trains networks of images alone. Without a name where none is named and the coefficients are of runs of a
/// software without a file: its host alone is as usual. Throws Error on an unknown name and an unreadable file.
[[nodiscard]] SoftwareFile software_of(const StudySpec& spec, const Coefficients& coefficients, bool sequences = false);

/// What the margin leaves of a device's memory. Throws Error where that is nothing.
[[nodiscard]] Bytes available_memory(Bytes device_memory, const Margin& margin);
/// Throws Error where the device's data sheet has no peak for the precision.
void require_precision(Precision precision, const Device& device);
/// That profiles of this name (MeasuredKernels) hold no kernel of the precision.
[[nodiscard]] std::string unused_profile_warning(Precision precision, const std::string& profiles);

/// Whether its tensors are images or volumes, which lie in memory with their channels first or last.
[[nodiscard]] bool has_layout(const Model& model);
/// The data set that goes with a model's input: the one of such samples; else of those with as many channels the one nearest
/// in size; else, as for any flat vector, a common one of about its size.
[[nodiscard]] std::string default_dataset(const Model& model);

/// Measured over roofline time, the geometric mean over all models the coefficients measured at this precision: how far this
/// device and software are from their roofline. Nothing when none was.
[[nodiscard]] std::optional<double> pooled_scale(const Machine& machine, const Coefficients& coefficients,
                                                 Precision precision);

}  // namespace ddl
