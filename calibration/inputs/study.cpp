#include "calibration/inputs/study.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/measured_models.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/study_checks.hpp"
#include "calibration/network/fits/fitted_links.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/kernels/clock.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/attention_variants.hpp"
#include "model_zoo/network/packed_sequences.hpp"

namespace ddl {
namespace {

Precision default_precision(const Model& model, const Device& device) {
  // PyTorch uses tf32 for convolutions by default.
  if (!is_usually_half(model)) return device.peak_at(Precision::tf32) ? Precision::tf32 : Precision::fp32;
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    if (device.peak_at(precision)) return precision;
  }
  return Precision::fp32;
}

/// The default precision. If the device's kernels or the whole model were measured in another precision, that precision is
/// the default, so that the measurements are used.
Precision usual_precision(const Model& model, const Device& device, const Coefficients& coefficients,
                          const FoundProfiles& profiles) {
  const Precision usual = default_precision(model, device);
  std::optional<Precision> measured;
  for (const MeasuredModel& each : coefficients.models) {
    if (each.model != model.name) continue;
    if (each.precision == usual) return usual;
    if (!measured && device.peak_at(each.precision)) measured = each.precision;
  }
  for (const FoundProfile& each : profiles.profiles) {
    for (const MeasuredKernel& kernel : measured_kernels(std::span(&each, 1)).kernels) {
      if (kernel.problem.precision == usual) return usual;
      if (!measured && device.peak_at(kernel.problem.precision)) measured = kernel.problem.precision;
    }
  }
  return measured.value_or(usual);
}

/// Throws Error if samples of the data set do not fit the model's input. Images and volumes of any size fit a flat vector.
void require_fitting(const Dataset& dataset, const Model& model, bool named) {
  const TensorShape& sample = dataset.sample;
  const TensorShape& input = model.input;
  const bool flat = input.rank == 0;
  const bool same_kind = sample.sequence == input.sequence && (flat || sample.rank == input.rank);
  const bool same_channels = input.sequence || flat || sample.channels == input.channels;
  if (sample.sequence == input.sequence && (!named || (same_kind && same_channels))) return;
  const Dataset fitting = load_dataset(default_dataset(model));
  const bool fits = fitting.sample.rank == input.rank && (input.sequence || fitting.sample.channels == input.channels);
  throw Error(fmt::format("the samples of '{}' are {}, but the input of '{}' is {}", dataset.name, to_string(sample),
                          model.name, to_string(input)),
              fits ? fmt::format("use a data set that fits: --dataset {}", fitting.name)
                   : "describe a matching one in a file: --dataset mine.yaml");
}

/// Bytes on disk per sample. Volumes and text are stored as they are read, so a network with smaller inputs reads fewer
/// bytes. Images are compressed, and cropped after reading.
Bytes bytes_per_sample(const Dataset& dataset, const Model& model) {
  const Bytes stored = dataset.sample_bytes();
  const bool stored_raw = dataset.sample.rank == 3 || dataset.sample.sequence;
  if (!stored_raw || dataset.sample.rank != model.input.rank || dataset.sample.items() <= 0) return stored;
  const double ratio = static_cast<double>(model.input.positions()) / static_cast<double>(dataset.sample.positions());
  return stored * ratio;
}

/// Whether a part of a sample can be read without the rest of the sample. Compressed samples, which have less than a byte
/// per item, must be read as a whole.
bool is_stored_raw(const Dataset& dataset) {
  return dataset.sample_bytes().value() >= static_cast<double>(dataset.sample.items());
}

/// The number of samples. A data set of tokens is cut into samples of the model's sequence length.
double samples_of(const Dataset& dataset, const Model& model) {
  const auto samples = static_cast<double>(dataset.samples);
  if (!model.input.sequence || !dataset.sample.sequence) return samples;
  return samples * static_cast<double>(dataset.sample.positions()) / static_cast<double>(model.input.positions());
}

/// The number of files of a sample. A file of tokens may contain many samples.
double files_per_sample(const Dataset& dataset, const Model& model) {
  return static_cast<double>(dataset.samples) / static_cast<double>(dataset.samples_per_file) / samples_of(dataset, model);
}

}  // namespace

bool has_layout(const Model& model) { return !model.input.sequence && model.input.rank > 0; }

void require_precision(Precision precision, const Device& device) {
  if (device.peak_at(precision)) return;
  std::string known;
  for (const Precision candidate : enum_values<Precision>) {
    if (device.peak_at(candidate)) known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(candidate));
  }
  throw Error(fmt::format("the datasheet of {} has no peak for {}", device.name, to_string(precision)),
              "known peaks: " + known);
}

std::string unused_profile_warning(Precision precision, const std::string& profiles) {
  return fmt::format("no kernel in {} was measured for {}: the profile is not used", to_string(precision), profiles);
}

Bytes available_memory(Bytes device_memory, const Margin& margin) {
  const Bytes kept = margin.of(device_memory);
  if (kept < device_memory) return device_memory - kept;
  throw Error(fmt::format("a margin of {} leaves nothing of {}", print_quantity(kept), print_quantity(device_memory)),
              "use a margin below the memory of a device");
}

namespace {

/// Whether exchanges inside a node take the same time on both machines: their nodes have the same
/// links and the same number of the same devices.
bool have_like_nodes(const Machine& a, const Machine& b) {
  if (a.levels.empty() || b.levels.empty() || a.devices_per_node() < 2) return false;
  const LinkLevel &links = a.levels.front(), &others = b.levels.front();
  return a.device.compute_capability == b.device.compute_capability && links.units == others.units &&
         links.bandwidth == others.bandwidth && links.rails == others.rails && links.peers == others.peers;
}

/// Measurements inside a node, from a bundled machine with nodes of the same kind, preferably with the same device.
Coefficients of_like_nodes(const Machine& machine) {
  Coefficients found;
  bool same_device = false;
  for (const std::string& name : machine_names()) {
    const std::optional<Coefficients> bundled = bundled_coefficients(name);
    if (!bundled || bundled->exchanges.empty()) continue;
    const Machine other = load_machine(name);
    const bool same = other.device.name == machine.device.name;
    if (!have_like_nodes(machine, other) || same_device || (!same && !found.exchanges.empty())) continue;
    std::vector<MeasuredCurve> curves;
    for (MeasuredCurve curve : bundled->exchanges.curves()) {
      if (curve.nodes != 1) continue;
      curve.tool += fmt::format("{}on {}", curve.tool.empty() ? "" : " ", other.name);
      curves.push_back(std::move(curve));
    }
    if (curves.empty()) continue;
    found.exchanges = MeasuredExchanges(std::move(curves));
    same_device = same;
  }
  return found;
}

}  // namespace

Coefficients coefficients_of(const StudySpec& spec, const Machine& machine) {
  if (spec.coefficients == "none") return {};
  std::string name = spec.coefficients;
  std::string way_out = "leave --coefficients out, or name that machine with --machine";
  if (name.empty()) {
    // A file with the name of a bundled machine may describe another machine.
    if (!is_path(spec.machine)) {
      const std::optional<Coefficients> bundled = bundled_coefficients(machine.name);
      return bundled ? *bundled : of_like_nodes(machine);
    }
    const std::optional<OwnCoefficients> own = own_coefficients(spec.machine);
    if (!own) return wants_no_coefficients(spec.machine) ? Coefficients{} : of_like_nodes(machine);
    name = own->path;
    way_out = fmt::format("{}; ignore them with --coefficients none", own->is_named
                                                                          ? "the coefficients are named in the machine file"
                                                                          : "the coefficients are next to the machine file");
  }
  Coefficients coefficients = load_coefficients(name);
  if (coefficients.machine != machine.name) {
    throw Error(fmt::format("the coefficients of '{}' belong to the machine '{}', not to '{}'", name, coefficients.machine,
                            machine.name),
                way_out);
  }
  const auto check_level = [&](const std::string& level) {
    std::vector<std::string_view> known;
    for (const LinkLevel& at : machine.levels) known.push_back(at.name);
    if (std::find(known.begin(), known.end(), level) != known.end()) return;
    throw Error(fmt::format("the coefficients of '{}' have the level '{}', which {} lacks", name, level, machine.name),
                fmt::format("known levels: {}", fmt::join(known, ", ")));
  };
  for (const MeasuredContention& measured : coefficients.contention) check_level(measured.level);
  for (const Congestion& congestion : coefficients.congestion) check_level(congestion.level);
  return coefficients;
}

std::string default_dataset(const Model& model) {
  const std::string_view kind = kind_of(model);
  for (const std::string& name : dataset_names()) {
    const Dataset dataset = load_dataset(name);
    if (dataset.sample == model.input || (!kind.empty() && dataset.task == kind)) return name;
  }
  if (model.input.sequence) return "openwebtext";
  // Finds the data set that is nearest in size among those with the model's number of channels.
  std::string nearest;
  double distance = 0;
  for (const std::string& name : dataset_names()) {
    const Dataset dataset = load_dataset(name);
    const TensorShape& sample = dataset.sample;
    if (!dataset.task.empty() || model.input.rank == 0 || sample.sequence || sample.rank != model.input.rank) continue;
    if (sample.channels != model.input.channels) continue;
    const double ratio = static_cast<double>(model.input.positions()) / static_cast<double>(sample.positions());
    if (nearest.empty() || std::abs(std::log(ratio)) < distance) {
      nearest = name;
      distance = std::abs(std::log(ratio));
    }
  }
  if (!nearest.empty()) return nearest;
  if (model.input.rank == 3) return "cosmoflow";
  return model.input.positions() <= std::int64_t{64} * 64 ? "cifar10" : "imagenet";
}

bool is_of_task(const Dataset& dataset, const Model& model) {
  const TensorShape& sample = dataset.sample;
  const std::string_view kind = kind_of(model);
  if (sample == model.input || (!kind.empty() && dataset.task == kind)) return true;
  if (sample.sequence && model.input.sequence) return kind.empty() || kind == "language" || kind == "moe";
  constexpr int image = 2;
  return kind == "classification" && sample.rank == image && model.input.rank == image &&
         sample.channels == model.input.channels;
}

Dataset dataset_of(const std::string& name, const Model& model) {
  if (!name.empty()) return load_dataset(name);
  Dataset found = load_dataset(default_dataset(model));
  const TensorShape& sample = found.sample;
  const TensorShape& input = model.input;
  // Any vision model may train on the bundled images. Each bundled data set of volumes belongs to one scientific task.
  constexpr auto of_images = std::to_array<std::string_view>({"", "science", "classification", "detection", "segmentation"});
  constexpr int volume = 3;
  const auto known = std::span(of_images).first(input.rank == volume ? 2 : of_images.size());
  const bool is_alike = input.rank == 0 || (sample.sequence == input.sequence && sample.rank == input.rank &&
                                            (input.sequence || sample.channels == input.channels));
  const bool has_images = std::find(known.begin(), known.end(), kind_of(model)) != known.end();
  if (is_of_task(found, model) || (is_alike && (input.sequence || has_images))) return found;
  // The unknown data set has samples of the model's shape, enough for any batch, and reading them takes no time.
  constexpr std::int64_t enough = 1'000'000'000;
  Dataset unknown;
  unknown.name = unknown_dataset;
  unknown.samples = unknown.samples_per_file = enough;
  unknown.sample = input;
  return unknown;
}

SoftwareFile software_of(const StudySpec& spec, const Machine& machine, const Coefficients& coefficients, bool sequences) {
  if (spec.software == no_software) return {};
  if (!spec.software.empty()) return load_software(spec.software);
  // If the measured runs used a bundled software, the settings of this software are returned. If
  // they used another software, only the launch overhead of the machine's usual software is returned.
  const std::string& measured = coefficients.software.name;
  const auto suits = [&](const SoftwareFile& software) {
    return !sequences || !software.settings.flag("images_only").value_or(false);
  };
  SoftwareFile usual = load_software(machine.software.empty() ? std::string(usual_software) : machine.software);
  if (!suits(usual)) usual = load_software(std::string(usual_software));
  if (measured.empty() || measured == unnamed_software) return usual;
  std::string nearest;
  for (const std::string& name : software_names()) {
    if (name.size() > nearest.size() && name_key(measured).starts_with(name_key(name))) nearest = name;
  }
  if (!nearest.empty()) {
    SoftwareFile own = load_software(nearest);
    return suits(own) ? own : usual;
  }
  SoftwareFile host;
  if (const SettingValue* const launch = usual.settings.find("launch_overhead"))
    host.settings.set("launch_overhead", *launch);
  return host;
}

StudyInputs load_inputs(const StudySpec& spec) {
  StudyInputs inputs;
  inputs.model = load_model(spec.model, spec.sequence);
  if (spec.packed_length) pack_sequences(inputs.model, *spec.packed_length);
  inputs.dataset = dataset_of(spec.dataset, inputs.model);
  inputs.machine = load_machine(spec.machine);
  inputs.coefficients = coefficients_of(spec, inputs.machine);
  inputs.software = software_of(spec, inputs.machine, inputs.coefficients, inputs.model.input.sequence);
  inputs.profiles = spec.found_profiles
                        ? spec.found_profiles
                        : std::make_shared<const FoundProfiles>(find_profiles(spec.profiles, inputs.machine));
  return inputs;
}

namespace {

/// Whether coefficients were measured with a software other than `software`.
bool is_of_another(const Software& measured, const SoftwareFile& software) {
  return !software.name.empty() && !measured.name.empty() && measured.name != unnamed_software &&
         !name_key(measured.name).starts_with(name_key(software.name));
}

}  // namespace

Coefficients Study::completed(Coefficients coefficients) const {
  // Settings of another software, and factors fitted to its runs, do not apply to this software.
  if (is_of_another(coefficients.software, software_)) {
    coefficients.software = {};
    coefficients.settings.clear();
    coefficients.learned.clear();
  }
  // Factors fitted to tensor splits do not apply to a software that trains only vision models,
  // because they were measured with sequence models.
  if (software_.settings.flag("images_only").value_or(false) && !model_.input.sequence) {
    std::erase_if(coefficients.learned, [](const auto& of) { return (of.first & family_bit(Axis::tensor)) != 0; });
  }
  if (coefficients.software.name.empty()) coefficients.software.name = software_.name;
  // Settings that the coefficients contain are not set again. They belong to the software of the
  // coefficients, or were changed by a fit.
  Settings settings;
  software_.settings.for_each([&](const SettingRow& row, const SettingValue& value) {
    if (coefficients.settings.find(row.key) == nullptr) settings.set(row, value);
  });
  settings.override_by(spec_.settings);
  Assumptions unused;
  apply_settings(settings, precision_, unused, coefficients.software);
  if (coefficients.overlap.source.empty() && !machine_.device.is_processor)
    coefficients.overlap.kernels = coefficients.software.overlap_slowdown.value_or(coefficients.overlap.kernels);
  return coefficients;
}

void Study::use_software() {
  if (is_of_another(coefficients_.software, software_) && !spec_.software.empty()) {
    warnings_.push_back(fmt::format("the coefficients are based on runs of {}, which are not used for {}",
                                    quote(coefficients_.software.name), software_.name));
  }
  coefficients_ = completed(std::move(coefficients_));
  Settings settings = software_.settings;
  settings.override_by(spec_.settings);
  Device& device = machine_.device;
  if (const auto launch = settings.number("launch_overhead"); launch && !device.launch_overhead && !device.is_processor)
    device.launch_overhead = Seconds(*launch) / device.host_speed;
  Software unused;
  apply_settings(settings, precision_, assumptions_, unused);
  if (assumptions_.sinks == SinkKernels::fused && !assumptions_.reads_mask) return;
  if (assumptions_.sinks != SinkKernels::fused) write_sinks(model_);
  if (assumptions_.reads_mask) read_masks(model_);
  facts_ = facts_of(model_);
}

namespace {

std::string sparse_text(const Assumptions& assumptions) {
  return fmt::format(
      "a sparse Allreduce sends {:.3g} % of the gradients (--sparse-density); the additional steps to the same accuracy are "
      "not predicted",
      assumptions.sparse_density * 100);
}

/// Returns the scale of the same model, measured in another precision: what the software adds to the roofline in one
/// precision is the best estimate of what it adds in another one. Empty if the model was not measured.
std::optional<double> scale_of_other_precision(const ModelFacts& facts, const Machine& machine,
                                               const Coefficients& coefficients) {
  for (const MeasuredModel& measured : coefficients.models) {
    if (measured.model != facts.model->name) continue;
    if (const auto scale = measured_scale(facts, machine.device, coefficients, measured.precision)) return scale;
  }
  return std::nullopt;
}

}  // namespace

Optimizer usual_optimizer(const Model& model, const ModelFacts& facts) {
  if (is_usually_half(model)) return Optimizer::adam;
  return facts.tables.empty() ? Optimizer::momentum : Optimizer::sgd;
}

Study::Study(StudySpec spec, StudyInputs inputs)
    : spec_(std::move(spec)),
      model_(std::move(inputs.model)),
      facts_(facts_of(model_)),
      dataset_(std::move(inputs.dataset)),
      machine_(std::move(inputs.machine)),
      coefficients_(measured_as(std::move(inputs.coefficients), model_)),
      software_(std::move(inputs.software)),
      assumptions_(spec_.assumptions),
      precision_(spec_.precision ? *spec_.precision
                                 : usual_precision(model_, machine_.device, coefficients_, *inputs.profiles)),
      optimizer_(spec_.optimizer.value_or(usual_optimizer(model_, facts_))),
      profiles_(std::move(inputs.profiles)),
      warnings_(model_.warnings) {
  warnings_.insert(warnings_.end(), profiles_->warnings.begin(), profiles_->warnings.end());
  for (std::string& unused : unused_profiles_text(*profiles_, machine_, model_.name)) warnings_.push_back(std::move(unused));
  device_memory_ = spec_.device_memory.value_or(machine_.device.memory);
  machine_.device.memory = available_memory(device_memory_, spec_.margin);
  if (spec_.known_kernels != KnownKernels::all) machine_.device.kernels = nullptr;
  if (spec_.known_kernels == KnownKernels::none) machine_.device.other_kernels = nullptr;
  require_fitting(dataset_, model_, !spec_.dataset.empty());
  require_precision(precision_, machine_.device);
  const bool of_this_software = !is_of_another(coefficients_.software, software_);
  use_software();
  if (assumptions_.allreduce == AllreduceAlgorithm::sparse) warnings_.push_back(sparse_text(assumptions_));
  require_matching(assumptions_, model_, optimizer_);
  require_power_limit(assumptions_, machine_);
  if (assumptions_.congestion_quantile && coefficients_.congestion.empty() && !coefficients_.exchanges.has_spread()) {
    throw Error(fmt::format("--congestion needs repeated network measurements of {}", machine_.name),
                "run calibrate with several runs of each benchmark, or leave --congestion out");
  }
  if (!coefficients_.exchanges.empty()) {
    std::vector<std::string> notes;  // these are notes that `calibrate` has already printed
    machine_ = with_fitted_links(std::move(machine_), coefficients_.exchanges, notes);
  }
  // Times of other models and precisions are used only if this model was never measured, and only for the software that ran
  // them.
  std::optional<KernelScale> scale;
  if (of_this_software && !measured_scale(facts_, machine_.device, coefficients_, precision_)) {
    if (const auto other = scale_of_other_precision(facts_, machine_, coefficients_)) scale = KernelScale{*other};
    if (!scale) scale = pooled_scale(machine_, coefficients_, precision_, &model_);
  }
  const MeasuredKernels measured = measured_kernels(profiles_->profiles, model_, precision_);
  const bool any = !profiles_->profiles.empty();
  kernels_ = std::make_unique<KernelTimes>(facts_, machine_.device, coefficients_, precision_, optimizer_, scale,
                                           any ? &measured : nullptr, assumptions_);
  if (any && kernels_->measured() == nullptr) {
    warnings_.push_back(unused_profile_warning(precision_, measured.name));
  }
  const bool casts = assumptions_.mixed_precision == MixedPrecision::autocast;
  for (const FoundProfile& each : profiles_->profiles) {
    const auto& details = each.profile.head.details;
    const bool autocast = std::find(details.begin(), details.end(),
                                    std::pair<std::string, std::string>("mixed precision", "autocast")) != details.end();
    if (!autocast || casts) continue;
    warnings_.push_back(fmt::format(
        "{} was measured under autocast, in which norms, losses and updates are in fp32: add --mixed-precision autocast",
        each.path));
    break;
  }
  if (measured.layout == "both" && has_layout(model_)) {
    warnings_.emplace_back(
        "kernels of images were measured in channels-last and in channels-first, and predictions mix both: use only the "
        "profiles of one of the two layouts with --profile");
  }
  job_ = std::make_unique<Job>(Job{.facts = facts_,
                                   .machine = machine_,
                                   .coefficients = coefficients_,
                                   .kernels = *kernels_,
                                   .assumptions = assumptions_,
                                   .samples_per_epoch = samples_of(dataset_, model_),
                                   .sample_bytes = bytes_per_sample(dataset_, model_),
                                   .dataset_bytes = bytes_per_sample(dataset_, model_) * samples_of(dataset_, model_),
                                   .files_per_sample = files_per_sample(dataset_, model_),
                                   .image_pixels = static_cast<double>(dataset_.image_pixels),
                                   .named_dataset = !spec_.dataset.empty(),
                                   .was_read = spec_.reads_dataset,
                                   .stored_raw = is_stored_raw(dataset_)});
}

}  // namespace ddl
