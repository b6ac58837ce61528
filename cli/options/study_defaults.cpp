#include <fmt/format.h>

#include "calibration/inputs/own_coefficients.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/figures.hpp"
#include "core/enum_array.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/input.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/dataset.hpp"
#include "model_zoo/network/model.hpp"

// The defaults of a study, for the table "Defaults in force".

namespace ddl {
namespace {

/// Describes how samples of the data set are adapted to the model's input.
std::string samples_text(const Study& study) {
  const TensorShape& sample = study.dataset().sample;
  const TensorShape& input = study.model().input;
  const std::string count = whole_text(study.job().samples_per_epoch);
  if (sample.sequence && sample.extent != input.extent) {
    return fmt::format("{} samples of {} tokens, cut from {} of {}", count, with_thousands(input.positions()),
                       with_thousands(study.dataset().samples), with_thousands(sample.positions()));
  }
  if (!sample.sequence && sample != input) {
    return fmt::format("{} samples of {}, read as {}", count, to_string(sample), to_string(input));
  }
  return count + " samples, which fit the model's input";
}

/// Whether the machine file gives the bandwidth of the storage with the samples.
bool has_priced_input(const Study& study) {
  const Storage& storage = study.machine().storage;
  if (fits_host_memory(study.job())) return true;
  if (storage.local_bandwidth && storage.local_capacity && fits_local_storage(study.job())) return true;
  return storage.shared_per_node || storage.shared_total;
}

/// Returns the default of --allreduce: the algorithm that the measured software uses for gradients, else the fastest. If
/// the software uses another algorithm in plans that also split layers, the value contains both (ExchangeTimes::allreduce).
Default allreduce_default(const Software& software) {
  const auto& alone = software.gradient_algorithm;
  const auto& hybrid = software.hybrid_gradient_algorithm;
  std::string value(alone ? to_string(*alone) : "fastest");
  if (hybrid && hybrid != alone) value += fmt::format("; {} with filter, channel or spatial", to_string(*hybrid));
  return {"--allreduce", value, alone || hybrid ? "as in the measured software" : "for each message size and layout"};
}

/// Returns the default of --software: that of the measured runs, of the machine, or the usual one.
Default software_default(const Study& study) {
  const std::string& name = study.software().name;
  const std::string& used = study.coefficients().software.name;
  if (used != name) return {"--software", name.empty() ? used : name, "software of the measured runs"};
  return {"--software", name, name == study.machine().software ? "software of the machine" : "default"};
}

Default overlap_default(const Study& study) {
  const Coefficients& coefficients = study.coefficients();
  const OverlapSlowdown& slowdown = coefficients.overlap;
  if (window_of_gradients(coefficients, study.assumptions(), false) != Window::none) {
    std::string why = "gradient communication is overlapped with backward";
    if (slowdown.kernels > 1) {
      why += fmt::format(": kernels then take {:.3g} times as long", slowdown.kernels);
      if (slowdown.exchange > 1) why += fmt::format(", the communication {:.3g} times", slowdown.exchange);
    } else if (slowdown.exchange > 1) {
      why += fmt::format(": the communication then takes {:.3g} times as long", slowdown.exchange);
    }
    return {"overlap", "yes", why};
  }
  return {
      "overlap", "no",
      coefficients.software.overlaps_gradients
          ? "the measured software communicates gradients after backward"
          : fmt::format(
                "overlapped, kernels take {:.3g} times as long, and the communication {:.3g} times: no overlap is faster",
                slowdown.kernels, slowdown.exchange)};
}

}  // namespace

std::vector<Default> defaults_of(const Command& command, const StudyOptions& options, const Study& study) {
  std::vector<Default> defaults;
  const auto unset = [&](const char* name) { return command.count(name) == 0; };
  const bool half = is_usually_half(study.model());
  const std::string models = study.model().input.sequence ? "sequence models" : "models of this kind";
  if (unset("--model")) defaults.push_back({"--model", study.model().name, ""});
  if (unset("--seq") && study.model().sequence_length > 0) {
    defaults.push_back({"--seq", fmt::format("{}", study.model().sequence_length), "the model's"});
  }
  if (unset("--dataset")) {
    const bool is_known = study.dataset().name != unknown_dataset;
    defaults.push_back(
        {"--dataset", study.dataset().name, is_known ? samples_text(study) : "no bundled data set is known for this model"});
  }
  if (unset("--machine")) defaults.push_back({"--machine", study.machine().name, ""});
  if (unset("--coefficients")) {
    const std::string& name = study.coefficients().name;
    const std::optional<OwnCoefficients> own = own_coefficients(study.spec().machine);
    const char* why = own                             ? place_of(*own)
                      : !name.empty()                 ? "bundled with the machine"
                      : is_path(study.spec().machine) ? "the machine file has none"
                                                      : "none are bundled for this machine";
    defaults.push_back({"--coefficients", own ? own->path : name.empty() ? "none" : name, why});
  }
  if (unset("--software") && !options.ideal) defaults.push_back(software_default(study));
  if (study.profiles().looked_up && study.kernels().measured() != nullptr) {
    std::string paths;
    for (const FoundProfile& each : study.profiles().profiles) paths += (paths.empty() ? "" : ", ") + each.path;
    defaults.push_back({"--profile", paths, "measured on this device"});
  }
  if (unset("--precision")) {
    defaults.push_back({"--precision", std::string(to_string(study.precision())),
                        half                                   ? "mixed precision, the default for " + models
                        : study.precision() == Precision::tf32 ? "PyTorch's default for convolutions"
                                                               : ""});
  }
  if (unset("--mixed-precision") && is_mixed(study.precision()) && !options.ideal) {
    constexpr EnumNames<MixedPrecision> meanings{
        "weights and gradients in half precision, plus a master copy in fp32",
        "gradients in fp32, weights in half precision, plus a master copy in fp32",
        "weights and gradients in fp32, copies in half precision",
        "weights and gradients in half precision, plus a master copy and summed gradients in fp32",
        "weights, gradients and optimizer state in half precision"};
    const MixedPrecision mixed = study.assumptions().mixed_precision;
    defaults.push_back({"--mixed-precision", std::string(mixed_precision_text(study)), std::string(meanings[mixed])});
  }
  if (unset("--optimizer")) {
    const bool has_tables = !study.job().facts.tables.empty();
    defaults.push_back({"--optimizer", std::string(to_string(study.optimizer())),
                        half         ? "default for " + models
                        : has_tables ? "default for models with embedding tables"
                                     : ""});
  }
  if (unset("--allreduce") && !options.ideal) {
    defaults.push_back(allreduce_default(study.coefficients().software));
  }
  if (!options.ideal) {
    if (unset("--no-overlap")) defaults.push_back(overlap_default(study));
    if (unset("--no-input") && unset("--input")) {
      defaults.push_back({"--input", study.assumptions().input_mode == InputMode::leader ? "leader" : "every-rank",
                          !has_priced_input(study) ? "not predicted: the machine file has no storage bandwidth"
                          : !study.assumptions().input_overlapped ? "not prefetched"
                                                                  : "prefetched while the devices compute"});
    }
  }
  return defaults;
}

}  // namespace ddl
