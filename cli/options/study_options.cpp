#include "cli/options/study_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/options/congestion.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "core/enum_array.hpp"
#include "core/error.hpp"
#include "core/plausible.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/dataset.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

namespace {

std::vector<std::string> texts(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

}  // namespace

Option offer_models(Option option) { return option.names_or_file(model_names); }
Option offer_machines(Option option) { return option.names_or_file(machine_names); }

void add_profile_options(const Command& command, std::vector<std::string>& profiles, bool& any_device) {
  const auto profile = command
                           .add_option("--profile", profiles,
                                       "kernels measured on the machine's device: a file, several if given again, or none; "
                                       "default: those of that device in the data directory")
                           .take_all()
                           .one_value_each()
                           .file();
  command.add_switch("--any-device", any_device, "use a profile of another device").needs(profile);
}

Option add_sequence_option(const Command& command, std::optional<std::int64_t>& sequence) {
  return add_whole_number(command, "--seq,--seq-len,--sequence-length", sequence, 1, max_attribute,
                          "tokens of a sample, for models of sequences; default: the model's own");
}

void add_memory_options(const Command& command, MemoryOptions& options) {
  const auto refuse = [](const char* option, const UnitProblem& problem) {
    throw Error(fmt::format("{}: {}", option, problem.message), problem.hint);
  };
  command
      .add_option_function(
          "--gpu-memory",
          [&options, refuse](const std::string& text) {
            UnitProblem problem;
            options.gpu_memory = parse_plausible(text, plausible_memory, problem);
            if (!options.gpu_memory) refuse("--gpu-memory", problem);
            if (*options.gpu_memory <= Bytes{})
              refuse("--gpu-memory", {quote(text) + " must be greater than zero", "write for example 80GiB"});
          },
          "memory of a GPU, in place of the machine's: 80GiB")
      .type_name("SIZE");
  command
      .add_option_function(
          "--margin",
          [&options, refuse](const std::string& text) {
            UnitProblem problem;
            options.margin = parse_margin(text, problem);
            if (!options.margin && problem.hint.find("900 GiB") != std::string::npos)
              problem.hint = "write for example 2GiB or 5%";
            if (!options.margin) refuse("--margin", problem);
          },
          "memory to keep free: 2GiB or 5%")
      .type_name("SIZE")
      .default_str("0 B");
}

Option add_software_option(const Command& command, std::string& software) {
  return command
      .add_option("--software", software,
                  "how the framework runs it (see 'software list'): a bundled name, a file or none; default: that "
                  "of the coefficients' runs, else pytorch")
      .names_or_file(software_names);
}

void add_study_options(const Command& command, StudyOptions& o) {
  offer_models(command.add_option("model,--model", o.model, "bundled model (see 'models list') or a model file"))
      .capture_default_str();
  add_sequence_option(command, o.sequence);
  add_whole_number(command, "--packed-length", o.packed_length, 1, max_attribute,
                   "tokens of a document, where sequences are packed with documents that do not see each other; default: a "
                   "sequence is one document");
  command
      .add_option("--dataset", o.dataset, "bundled data set (see 'datasets list') or a file; default: what fits the model")
      .names_or_file(dataset_names);
  offer_machines(command.add_option("--machine", o.machine, "bundled machine (see 'machines list') or a machine file"))
      .capture_default_str();
  command
      .add_option("--coefficients", o.coefficients,
                  "measured coefficients of that machine: a file, a bundled name or none; default: those bundled with a "
                  "bundled machine, and those beside or named in a machine file")
      .file();
  const Option software = add_software_option(command, o.software);
  command
      .add_option("--memory-format", o.memory_format,
                  "order of images in memory: nchw or nhwc (channels last); default: the software's")
      .words([] { return texts(memory_format_names); });
  add_profile_options(command, o.profiles, o.any_device);
  add_memory_options(command, o.memory);
  command
      .add_option(
          "--precision", o.precision,
          "fp32, tf32, fp16, bf16, fp8 or nvfp4; default: mixed for sequences, else tf32 where the device has it, else fp32")
      .words([] { return texts(precision_names()); });
  command
      .add_option(
          "--mixed-precision", o.mixed_precision,
          "what fp16 and bf16 mean for memory: half (weights and gradients, beside a master), full (gradients in "
          "fp32 and cross entropy in place, as Megatron-LM does), autocast (PyTorch's) or accumulated (half, and a sum in "
          "fp32 on each rank, as DeepSpeed does with bf16); default: the software's, else half")
      .words([] { return texts(mixed_precision_names); });
  const auto older =
      command.add_switch("--older-framework", o.older_framework,
                         "memory as of PyTorch before 2.0 with CUDA before 11.7: gradients stay after the update, all "
                         "kernels are loaded at once");
  command
      .add_option("--optimizer", o.optimizer,
                  "sgd, momentum, adam, adamw, lamb, adafactor or adam8bit; default: adam for sequences, else momentum")
      .words([] { return texts(optimizer_names()); });
  command
      .add_option("--optimizer-implementation", o.optimizer_implementation,
                  "how the framework runs it: foreach or fused over the list of all tensors, or single, tensor by tensor; "
                  "default: one fused pass over each layer's parameters")
      .words([] { return texts(list_implementation_names()); });
  const auto ideal = command.add_switch("--ideal", o.ideal,
                                        "closed forms only: linear kernels, one alpha and beta, no overlap, no penalties");
  command
      .add_option("--allreduce", o.allreduce,
                  "fix the gradient exchange: linear, tree, butterfly, ring, rabenseifner, shifted-halving-doubling, "
                  "hierarchical, multi-leader, leader, "
                  "parameter-server, reduce-broadcast, sparse or double-tree; default: as measured, else the cheapest")
      .words([] {
        std::vector<std::string> names;
        for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) names.emplace_back(to_string(algorithm));
        return names;
      });
  const Assumptions assumed;
  add_number(command, "--parameter-servers", o.parameter_servers, 1, most_parameter_servers,
             "servers of --allreduce parameter-server")
      .default_str(fmt::format("{}", assumed.parameter_servers));
  add_number(command, "--sparse-density", o.sparse_density, least_sparse_density, 1,
             "share of the gradients that --allreduce sparse sends")
      .default_str(fmt::format("{}", assumed.sparse_density));
  const auto imbalance = add_number(command, "--expert-imbalance", o.expert_imbalance, 1, most_expert_imbalance,
                                    "tokens of the busiest rank of an expert split over the mean; default: 1, as if all "
                                    "experts were equally popular");
  const auto straggler =
      add_number(command, "--straggler", o.straggler, 1, most_straggler,
                 "time of the kernels of the slowest device over that of the others, which wait for it: 1.1; default: 1");
  const auto idle = add_whole_number(command, "--idle-communicators", o.idle_communicators, 0, most_idle_communicators,
                                     "communicators that the framework makes beside those of the plan, of groups that are "
                                     "never used or have one rank: each takes 544 MiB; default: 0");
  const auto congestion =
      command.add_option("--congestion", o.congestion,
                         "price exchanges as slow as this share of repetitions are at most, such as p95, by the spread of "
                         "measured ones and by the coefficients' congestion; default: the median of the job alone");
  command.add_switch("--no-overlap", o.no_overlap, "do not hide the gradient exchange behind backward");
  const auto input =
      command
          .add_option("--input", o.input,
                      "every-rank reads its own samples, or one leader of a split group sends them to the others")
          .words([] {
            return std::vector<std::string>{"every-rank", "leader"};
          })
          .capture_default_str();
  const auto exposed =
      command.add_switch("--input-exposed", o.input_exposed, "samples are not read ahead while the devices compute");
  command.add_switch("--no-input", o.no_input, "leave reading and staging of samples out").excludes(input).excludes(exposed);
  ideal.excludes(input)
      .excludes(exposed)
      .excludes(older)
      .excludes(congestion)
      .excludes(software)
      .excludes(imbalance)
      .excludes(straggler)
      .excludes(idle);
}

UpdateImplementation update_implementation_named(const std::string& name) {
  const std::span<const std::string_view> known = list_implementation_names();
  return chosen("--optimizer-implementation", name, parse_update_implementation, {known.begin(), known.end()});
}

std::string_view mixed_precision_text(const Study& study) {
  return mixed_precision_names[study.assumptions().mixed_precision];
}

namespace {

/// The value at the place that a name has among `names`.
template <class Enum>
Enum place_named(const char* option, const std::string& name, std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) unknown_choice(option, name, {names.begin(), names.end()});
  return static_cast<Enum>(found - names.begin());
}

/// In standard deviations above the median.
double congestion_named(const std::string& text) {
  const std::optional<double> percent = parse_congestion(text);
  if (!percent) throw Error("--congestion: " + congestion_problem(text), congestion_hint);
  return congestion_quantile(*percent);
}

}  // namespace

StudySpec spec_of(const StudyOptions& o) {
  StudySpec spec;
  spec.model = o.model;
  spec.sequence = o.sequence;
  spec.packed_length = o.packed_length;
  spec.dataset = o.dataset;
  spec.machine = o.machine;
  spec.coefficients = o.coefficients;
  // The closed forms know of no software.
  spec.software = o.ideal ? std::string(no_software) : o.software;
  spec.profiles = {o.profiles, o.any_device};
  spec.device_memory = o.memory.gpu_memory;
  spec.margin = o.memory.margin.value_or(Margin{});
  if (o.ideal) spec.assumptions = ideal_assumptions();
  if (!o.precision.empty()) spec.precision = chosen("--precision", o.precision, parse_precision, precision_names());
  if (!o.memory_format.empty())
    spec.memory_format = place_named<MemoryFormat>("--memory-format", o.memory_format, memory_format_names);
  if (!o.mixed_precision.empty())
    spec.mixed_precision = place_named<MixedPrecision>("--mixed-precision", o.mixed_precision, mixed_precision_names);
  if (o.older_framework) spec.older_framework = true;
  if (o.idle_communicators) spec.assumptions.idle_communicators = static_cast<int>(*o.idle_communicators);
  if (!o.optimizer.empty()) spec.optimizer = chosen("--optimizer", o.optimizer, parse_optimizer, optimizer_names());
  if (!o.optimizer_implementation.empty()) spec.update = update_implementation_named(o.optimizer_implementation);
  if (!o.allreduce.empty()) {
    std::vector<std::string_view> known;
    for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) known.push_back(to_string(algorithm));
    spec.assumptions.allreduce = chosen("--allreduce", o.allreduce, parse_allreduce_algorithm, known);
    if (o.ideal)
      throw Error("--ideal exchanges gradients by a ring: it cannot be combined with --allreduce", "leave one of them out");
  }
  if (o.input == "leader") {
    spec.assumptions.input_mode = InputMode::leader;
  } else if (o.input != "every-rank") {
    unknown_choice("--input", o.input, {"every-rank", "leader"});
  }
  const auto belongs_to = [&](const char* option, AllreduceAlgorithm algorithm) {
    if (spec.assumptions.allreduce == algorithm) return;
    throw Error(fmt::format("{} without --allreduce {}", option, to_string(algorithm)), "add that, or leave this out");
  };
  if (o.parameter_servers) {
    belongs_to("--parameter-servers", AllreduceAlgorithm::parameter_server);
    spec.assumptions.parameter_servers = *o.parameter_servers;
  }
  if (o.sparse_density) {
    belongs_to("--sparse-density", AllreduceAlgorithm::sparse);
    spec.assumptions.sparse_density = *o.sparse_density;
  }
  if (!o.congestion.empty()) spec.assumptions.congestion_quantile = congestion_named(o.congestion);
  if (o.expert_imbalance) spec.assumptions.expert_imbalance = *o.expert_imbalance;
  if (o.straggler) spec.assumptions.straggler = *o.straggler;
  if (o.no_overlap) spec.assumptions.overlap = false;
  if (o.no_input) spec.assumptions.include_input = false;
  if (o.input_exposed) spec.assumptions.input_overlapped = false;
  return spec;
}

namespace {

constexpr std::size_t most_studies = 64;

std::vector<std::string> names_in(const std::string& option, const std::string& text) {
  std::error_code ignored;
  if (text.find(',') == std::string::npos || (is_path(text) && std::filesystem::exists(text, ignored))) return {text};
  std::vector<std::string> names;
  for (const std::string& name : comma_separated(text)) {
    if (name.empty())
      throw Error(fmt::format("{} {} has an empty name", option, quote(text)), "separate names by single commas");
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw Error(fmt::format("{} names {} twice", option, quote(name)), "name it once");
    names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> studies_named(const StudyOptions& options) {
  std::vector<std::pair<std::string, std::string>> studies;
  const std::vector<std::string> machines = names_in("--machine", options.machine);
  for (const std::string& model : names_in("--model", options.model)) {
    for (const std::string& machine : machines) studies.emplace_back(model, machine);
  }
  if (studies.size() > most_studies) {
    throw Error(fmt::format("--model and --machine together ask for {} studies", studies.size()),
                fmt::format("ask for at most {} at a time", most_studies));
  }
  return studies;
}

void add_format_option(const Command& command, ReportOptions& options, const std::vector<Content>& held) {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) {
    if (format.writes == Content::document || format.writes == Content::json ||
        std::find(held.begin(), held.end(), format.writes) != held.end()) {
      names.push_back(format.name);
    }
  }
  command
      .add_option_function(
          "--format",
          [&options, names](const std::string& text) {
            if (std::find(names.begin(), names.end(), text) == names.end()) unknown_choice("--format", text, names);
            options.format = text;
          },
          fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back()))
      .default_str("text")
      .words([names] { return texts(names); });
  command
      .add_option_function(
          "--color",
          [&options](const std::string& text) {
            if (text != "auto" && text != "always" && text != "never")
              unknown_choice("--color", text, {"auto", "always", "never"});
            options.color = text;
          },
          "auto, always or never")
      .default_str("auto")
      .words([] {
        return std::vector<std::string>{"auto", "always", "never"};
      });
  command.add_switch("--wide", options.wide, "text: tables have all their columns, however wide they get");
  command.add_switch("--ascii", options.ascii, "text: no sign but those of ASCII");
  command.add_switch("-q,--quiet", options.quiet, "no warnings; errors are said");
}

Option add_output_option(const Command& command, std::string& output, const std::string& description) {
  return command.add_option("-o,--output", output, description).file();
}

void add_report_options(const Command& command, ReportOptions& options, const std::vector<Content>& held) {
  add_format_option(command, options, held);
  add_output_option(command, options.output, "write the report to this file instead of the standard output");
}

namespace {

/// What a study does with samples of another shape than the model's input.
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
  return count + " samples, fits the model's input";
}

/// Whether the machine's sheet says how fast samples come from where they lie.
bool has_priced_input(const Study& study) {
  const Storage& storage = study.machine().storage;
  if (fits_host_memory(study.job())) return true;
  if (storage.local_bandwidth && storage.local_capacity && fits_local_storage(study.job())) return true;
  return storage.shared_per_node || storage.shared_total;
}

/// The measured software's algorithm, and the one it takes where layers are split besides (ExchangePrices::allreduce).
Default allreduce_default(const Software& software) {
  const auto& alone = software.gradient_algorithm;
  const auto& hybrid = software.hybrid_gradient_algorithm;
  std::string value(alone ? to_string(*alone) : "cheapest");
  if (hybrid && hybrid != alone) value += fmt::format("; {} with filter, channel or spatial", to_string(*hybrid));
  return {"--allreduce", value, alone || hybrid ? "as the measured software does" : "for every message and layout"};
}

Default overlap_default(const Study& study) {
  const Coefficients& coefficients = study.coefficients();
  const OverlapSlowdown& slowdown = coefficients.overlap;
  if (overlaps_gradients(coefficients, study.assumptions())) {
    std::string why = "the exchange of gradients runs beside backward";
    if (slowdown.kernels > 1) {
      why += fmt::format(": kernels then take {:.3g} times as long", slowdown.kernels);
      if (slowdown.exchange > 1) why += fmt::format(", the exchange {:.3g} times", slowdown.exchange);
    } else if (slowdown.exchange > 1) {
      why += fmt::format(": it then takes {:.3g} times as long", slowdown.exchange);
    }
    return {"overlap", "yes", why};
  }
  return {"overlap", "no",
          coefficients.software.overlaps_gradients
              ? "the measured software exchanges gradients after backward"
              : fmt::format("beside each other kernels take {:.3g} times as long, the exchange {:.3g} times: one after the "
                            "other is shorter",
                            slowdown.kernels, slowdown.exchange)};
}

}  // namespace

std::vector<Default> defaults_of(const Command& command, const StudyOptions& options, const Study& study) {
  std::vector<Default> defaults;
  const auto unset = [&](const char* name) { return command.count(name) == 0; };
  const bool sequence = study.model().input.sequence;
  if (unset("--model")) defaults.push_back({"--model", study.model().name, ""});
  if (unset("--seq") && study.model().sequence_length > 0) {
    defaults.push_back({"--seq", fmt::format("{}", study.model().sequence_length), "the model's own"});
  }
  if (unset("--dataset")) {
    defaults.push_back({"--dataset", study.dataset().name, samples_text(study)});
  }
  if (unset("--machine")) defaults.push_back({"--machine", study.machine().name, ""});
  if (unset("--coefficients")) {
    const std::string& name = study.coefficients().name;
    const std::optional<OwnCoefficients> own = own_coefficients(study.spec().machine);
    const char* why = own                             ? place_of(*own)
                      : !name.empty()                 ? "bundled with the machine"
                      : is_path(study.spec().machine) ? "none come with the machine file"
                                                      : "nothing measured is bundled for this machine";
    defaults.push_back({"--coefficients", own ? own->path : name.empty() ? "none" : name, why});
  }
  if (unset("--software") && !options.ideal) {
    const std::string& name = study.software().name;
    defaults.push_back(
        {"--software", name.empty() ? study.coefficients().software.name : name,
         study.coefficients().software.name != name ? "that of the measured runs" : "where nobody names one"});
  }
  if (study.profiles().looked_up && study.kernels().measured() != nullptr) {
    std::string paths;
    for (const FoundProfile& each : study.profiles().profiles) paths += (paths.empty() ? "" : ", ") + each.path;
    defaults.push_back({"--profile", paths, "measured on this device"});
  }
  if (unset("--precision")) {
    defaults.push_back({"--precision", std::string(to_string(study.precision())),
                        sequence                               ? "mixed precision for sequences"
                        : study.precision() == Precision::tf32 ? "as PyTorch runs convolutions"
                                                               : ""});
  }
  if (unset("--mixed-precision") && is_mixed(study.precision()) && !options.ideal) {
    constexpr EnumNames<MixedPrecision> meanings{
        "weights and gradients in half precision, plus a master copy in fp32",
        "gradients in fp32, weights in half precision, plus a master copy in fp32",
        "weights and gradients in fp32, copies in half precision",
        "weights and gradients in half precision, plus a master copy and summed gradients in fp32"};
    const MixedPrecision mixed = study.assumptions().mixed_precision;
    defaults.push_back({"--mixed-precision", std::string(mixed_precision_text(study)), std::string(meanings[mixed])});
  }
  if (unset("--optimizer")) {
    defaults.push_back({"--optimizer", std::string(to_string(study.optimizer())), sequence ? "for sequences" : ""});
  }
  if (unset("--allreduce") && !options.ideal) {
    defaults.push_back(allreduce_default(study.coefficients().software));
  }
  if (!options.ideal) {
    if (unset("--no-overlap")) defaults.push_back(overlap_default(study));
    if (unset("--no-input") && unset("--input")) {
      defaults.push_back({"--input", options.input,
                          !has_priced_input(study) ? "not priced: the machine's sheet has no bandwidth for it"
                          : options.input_exposed  ? "not read ahead"
                                                   : "read ahead while the devices compute"});
    }
  }
  return defaults;
}

}  // namespace ddl
