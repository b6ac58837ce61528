#include "cli/options/study_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/options/option_value.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "core/enum_array.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/plausible.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "estimator/inputs/training_rows.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/dataset.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/onnx_file.hpp"
#include "model_zoo/files/published_names.hpp"
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
                           .add_repeated("--profile", profiles,
                                         "profile of kernels on the machine's device: a file (repeatable) or none; default: "
                                         "those of that device in the data directory")
                           .file();
  command.add_switch("--any-device", any_device, "use a profile of another device").needs(profile);
}

void add_sample_options(const Command& command, std::optional<std::int64_t>& sequence, std::string& input_shape) {
  add_tokens(command, "--seq,--seq-len,--sequence-length", sequence, max_attribute,
             "tokens per sample of a sequence model, such as 4096 or 4k; default: the model's");
  command.add_option("--input-shape", input_shape,
                     "sizes of one sample of a vision model, such as 3x640x640, or of an ONNX file that does not fix them; "
                     "default: the model's",
                     "SIZES");
}

std::string shaped_model(const std::string& model, const std::string& input_shape) {
  if (input_shape.empty()) return model;
  static_cast<void>(parse_input_shape("--input-shape", input_shape));
  return fmt::format("{}@input={}", model, input_shape);
}

std::string adapted_model(const std::string& model, std::optional<std::int64_t> rank, const std::string& kind) {
  if (!rank) {
    if (kind.empty()) return model;
    if (model.find("@lora=") == std::string::npos)
      throw Error(fmt::format("--adapter {} needs the rank of the adapters", kind), "add --lora 16");
    if (model.find("@adapter=") != std::string::npos) {
      throw Error(fmt::format("--adapter {} contradicts {}", kind, quote(model)),
                  "set the kind of the adapters once, in the name or with --adapter");
    }
    return fmt::format("{}@adapter={}", model, kind);
  }
  if (model.find("@lora=") != std::string::npos) {
    throw Error(fmt::format("--lora {} contradicts {}", *rank, quote(model)),
                "set the rank of the adapters once, in the name or with --lora");
  }
  return fmt::format("{}@lora={}{}", model, *rank, kind.empty() ? "" : "@adapter=" + kind);
}

void add_memory_options(const Command& command, MemoryOptions& options) {
  const auto parse_memory = [](const std::string& text, UnitProblem& problem) -> std::optional<Bytes> {
    const auto memory = parse_plausible(text, plausible_memory, problem);
    if (!memory || *memory > Bytes{}) return memory;
    problem = {quote(text) + " must be greater than zero", "use for example 80GiB"};
    return std::nullopt;
  };
  add_parsed(command, "--gpu-memory", options.gpu_memory, parse_memory, "", "SIZE",
             "memory per GPU, such as 80GiB, instead of the machine's");
  const auto parse = [](const std::string& text, UnitProblem& problem) {
    const auto margin = parse_margin(text, problem);
    if (problem.hint.find("900 GiB") != std::string::npos) problem.hint = "use for example 2GiB or 5%";
    return margin;
  };
  add_parsed(command, "--margin", options.margin, parse, "", "SIZE", "memory to keep free, such as 2GiB or 5%")
      .default_str("0 B");
}

Option add_software_option(const Command& command, std::string& software) {
  return command
      .add_option("--software", software,
                  "framework (see 'software list'): a bundled name, a file or none; default: that of the coefficients' "
                  "runs, else pytorch")
      .names_or_file(software_names);
}

namespace {

/// Returns the option for a setting: `--memory-format` for the key `memory_format`.
std::string option_of(const SettingRow& row) {
  std::string name = fmt::format("--{}", row.key);
  std::ranges::replace(name, '_', '-');
  return name;
}

/// Adds the option for a setting. A flag gets a switch; other settings get an option with a value.
/// A switch `--no-…` sets the flag to no.
Option add_setting(const Command& command, std::string_view key, Settings& settings, std::string name = {}) {
  const SettingRow& row = setting_named(std::string(key));
  if (name.empty()) name = option_of(row);
  const std::string help(row.help);
  if (row.kind == SettingKind::flag) {
    const double value = name.starts_with("--no-") ? 0 : 1;
    return command.add_switch_function(
        name,
        [&row, &settings, value] {
          settings.set(row, {value, SettingOrigin::option, {}});
        },
        help);
  }
  const auto read = [&row, &settings, name](const std::string& text) {
    settings.set(row, {parse_setting(row, text, name), SettingOrigin::option, {}});
  };
  const Option option = command.add_option_function(name, read, help);
  if (row.kind == SettingKind::name) option.words([&row] { return texts(row.names); });
  if (row.kind == SettingKind::number || row.kind == SettingKind::whole_number) option.type_name("NUMBER");
  if (row.kind == SettingKind::time) option.type_name("TIME");
  if (row.kind == SettingKind::bytes) option.type_name("SIZE");
  if (row.kind == SettingKind::percentile) option.type_name("PERCENTILE");
  if (!row.usual.empty()) option.default_str(std::string(row.usual));
  return option;
}

}  // namespace

namespace {

/// Adds the options of precisions and of the optimizer. Returns the option of older frameworks.
Option add_precision_options(const Command& command, StudyOptions& o) {
  add_setting(command, "mixed_precision", o.settings);
  add_setting(command, "master_weights", o.settings);
  add_setting(command, "moments", o.settings);
  add_setting(command, "base", o.settings);
  const Option older = add_setting(command, "older_framework", o.settings);
  command
      .add_option("--optimizer", o.optimizer,
                  std::string(optimizer_words) +
                      "; the state of paged optimizers moves to the host if memory is short; default: adam for sequences, "
                      "else momentum")
      .words([] { return texts(enum_names<Optimizer>); });
  return older;
}

void add_adapter_options(const Command& command, StudyOptions& o) {
  add_whole_number(command, "--lora", o.adapters, 1, max_attribute,
                   "train only LoRA adapters of this rank on all matrices of blocks, as with MODEL@lora=RANK; "
                   "MODEL@lora=RANK@lora_layers=NAMES adapts some matrices; --base gives the format of frozen weights");
  command
      .add_option(
          "--adapter", o.adapter_kind,
          "kind of the adapters of --lora: lora, dora (weight-decomposed), loha (Hadamard products) or lokr (Kronecker "
          "products); default: lora")
      .words([] { return texts(enum_names<AdapterKind>); });
}

std::vector<Option> add_expert_options(const Command& command, StudyOptions& o) {
  const Option imbalance = add_setting(command, "expert_imbalance", o.settings);
  return {imbalance, add_setting(command, "routing", o.settings).excludes(imbalance),
          add_setting(command, "capacity_factor", o.settings), add_setting(command, "padded_experts", o.settings)};
}

/// Reads `5.8 years per GPU`, `40 d per node`, `3h per job` or `5.8 years`, which is the time of a GPU.
void set_time_between_failures(const std::string& text, Settings& settings) {
  const SettingRow &interval = setting_named("mtbf"), &of = setting_named("mtbf_of");
  constexpr std::string_view per = " per ";
  const std::size_t at = text.find(per);
  settings.set(interval, {parse_setting(interval, text.substr(0, at), "--mtbf"), SettingOrigin::option, {}});
  if (at == std::string::npos)
    throw Error(fmt::format("--mtbf {}: the unit that fails is missing", text),
                fmt::format("use '{0} per GPU', '{0} per node' or '{0} per job'", text));
  const std::string unit = lower_case(text.substr(at + per.size()));
  settings.set(of, {parse_setting(of, unit, "--mtbf"), SettingOrigin::option, {}});
}

/// Adds the options of failures, checkpoints and electrical power.
void add_recovery_options(const Command& command, StudyOptions& o) {
  Settings& settings = o.settings;
  command.add_option_function(
      "--mtbf", [&settings](const std::string& text) { set_time_between_failures(text, settings); },
      fmt::format("{}; such as '5.8 years per GPU' or '3h per job'", setting_named("mtbf").help), "TIME");
  for (const std::string_view key : recovery_keys) {
    if (key != "mtbf") add_setting(command, key, settings);
  }
  for (const std::string_view key : {"pue", "carbon"}) add_setting(command, key, settings);
}

}  // namespace

void add_study_options(const Command& command, StudyOptions& o) {
  offer_models(command.add_option("model,--model", o.model,
                                  "bundled model (see 'models list'), a model file, an ONNX file or a config.json"))
      .capture_default_str();
  add_sample_options(command, o.sequence, o.input_shape);
  add_adapter_options(command, o);
  add_tokens(command, "--packed-length", o.packed_length, max_attribute,
             "tokens per document, if sequences are packed with documents that do not attend to each other; default: "
             "one document per sequence");
  command
      .add_option("--dataset", o.dataset,
                  "bundled data set (see 'datasets list') or a file; default: one that fits the model")
      .names_or_file(dataset_names);
  offer_machines(command.add_option("--machine", o.machine, "bundled machine (see 'machines list') or a machine file"))
      .capture_default_str();
  command
      .add_option("--coefficients", o.coefficients,
                  "measured coefficients of the machine: a file, a bundled name or none; default: those bundled with the "
                  "machine, or those that a machine file names or that are next to it")
      .file();
  const Option software = add_software_option(command, o.software);
  add_setting(command, "memory_format", o.settings);
  add_profile_options(command, o.profiles, o.any_device);
  add_memory_options(command, o.memory);
  command
      .add_option("--precision", o.precision,
                  "number format: fp32, tf32, fp16, bf16, fp8, nvfp4, mxfp8, mxfp6, mxfp4 or int8; default: mixed precision "
                  "for sequences, else tf32 if the device has it, else fp32")
      .words([] { return texts(enum_names<Precision>); });
  const Option older = add_precision_options(command, o);
  add_setting(command, "optimizer_implementation", o.settings).words([] { return texts(list_implementation_names()); });
  const auto ideal = command.add_switch("--ideal", o.ideal,
                                        "closed forms only: linear kernels, one alpha and beta, no overlap, no penalties");
  const Option allreduce = add_setting(command, "allreduce", o.settings);
  for (const char* const key : {"parameter_servers", "sparse_density"}) add_setting(command, key, o.settings);
  const std::vector<Option> of_experts = add_expert_options(command, o);
  const Option straggler = add_setting(command, "straggler", o.settings);
  std::vector<Option> of_gradients;
  for (const char* const key :
       {"sparse_gradients", "local_steps", "local_fragments", "local_overlap", "compress", "compress_density",
        "compress_rank", "staleness", "neighbors", "image_loader", "loader_workers", "staging", "exchanged_samples",
        "precondition_every", "projection_rank", "updates_in_backward", "mlp_tiles", "power_limit", "other_models"})
    of_gradients.push_back(add_setting(command, key, o.settings));
  of_gradients.push_back(add_setting(command, "synchronization", o.settings).excludes(allreduce));
  const Option idle = add_setting(command, "idle_communicators", o.settings);
  const Option congestion = add_setting(command, "congestion", o.settings);
  add_setting(command, "overlap", o.settings, "--no-overlap");
  add_recovery_options(command, o);
  const Option input = add_setting(command, "input", o.settings).words([] {
    return std::vector<std::string>{"every-rank", "leader"};
  });
  const Option exposed = add_setting(command, "input_exposed", o.settings);
  command
      .add_switch_function(
          "--no-input",
          [&o] {
            o.settings.set("input", {input_none, SettingOrigin::option, {}});
          },
          "ignore the time to load samples")
      .excludes(input)
      .excludes(exposed);
  const Option setting = add_setting_words(command, o.setting_words);
  for (const Option& each : of_gradients) each.excludes(ideal);
  for (const Option& each : of_experts) each.excludes(ideal);
  ideal.excludes(input)
      .excludes(exposed)
      .excludes(older)
      .excludes(congestion)
      .excludes(software)
      .excludes(straggler)
      .excludes(idle)
      .excludes(setting);
}

Option add_setting_words(const Command& command, std::vector<std::string>& words) {
  return command.add_repeated(
      "--setting", words,
      "override a setting of the software (see 'software keys'), as key=value: overlaps_gradients=no; repeatable",
      "KEY=VALUE");
}

UpdateImplementation update_implementation_named(const std::string& name) {
  const auto implementation = parse_enum<UpdateImplementation>(name);
  if (!implementation) {
    const auto known = list_implementation_names();
    unknown_choice("--optimizer-implementation", name, {known.begin(), known.end()});
  }
  return *implementation;
}

std::string_view mixed_precision_text(const Study& study) {
  return mixed_precision_names[study.assumptions().mixed_precision];
}

namespace {

/// Names of optimizers in Hugging Face's Trainer, bitsandbytes and axolotl [transformers, training_args.py, OptimizerNames].
constexpr auto other_optimizers = std::to_array<std::pair<std::string_view, Optimizer>>({
    {"adamw_8bit", Optimizer::adam8bit},
    {"adamw_bnb_8bit", Optimizer::adam8bit},
    {"adamw8bit", Optimizer::adam8bit},
    {"adamw_torch", Optimizer::adamw},
    {"adamw_torch_fused", Optimizer::adamw},
    {"paged_adamw_32bit", Optimizer::paged_adamw},
    {"paged_adamw_8bit", Optimizer::paged_adam8bit},
});

Optimizer optimizer_named(const std::string& name) {
  const auto* const other = std::ranges::find_if(other_optimizers, [&](const auto& each) { return each.first == name; });
  return other != other_optimizers.end() ? other->second : chosen<Optimizer>("--optimizer", name);
}

/// Sets the format of frozen weights to that of a published checkpoint, if its name says that it is quantized.
void set_base_of_name(const StudyOptions& o, StudySpec& spec) {
  const auto base = enum_named(base_weights_names, quantized_format(o.model));
  if (base && spec.model.find("@lora=") != std::string::npos && spec.settings.find("base") == nullptr)
    spec.settings.set("base", {static_cast<double>(*base), SettingOrigin::job, {}});
}

}  // namespace

StudySpec spec_of(const StudyOptions& o) {
  StudySpec spec;
  spec.model = adapted_model(shaped_model(o.model, o.input_shape), o.adapters, o.adapter_kind);
  spec.sequence = o.sequence;
  spec.packed_length = o.packed_length;
  spec.dataset = o.dataset;
  spec.machine = o.machine;
  spec.coefficients = o.coefficients;
  // The closed forms of --ideal do not depend on the software.
  spec.software = o.ideal ? std::string(no_software) : o.software;
  spec.profiles = {o.profiles, o.any_device};
  spec.device_memory = o.memory.gpu_memory;
  spec.margin = o.memory.margin.value_or(Margin{});
  if (o.ideal) spec.assumptions = ideal_assumptions();
  if (!o.precision.empty()) spec.precision = chosen<Precision>("--precision", o.precision);
  if (!o.optimizer.empty()) spec.optimizer = optimizer_named(o.optimizer);
  if (o.ideal && o.settings.find("allreduce") != nullptr)
    throw Error("--ideal uses a ring allreduce: it cannot be combined with --allreduce", "leave one of them out");
  o.saved.for_each([&](const SettingRow& row, const SettingValue& value) {
    if (row.with_ideal || !o.ideal) spec.settings.set(row, value);
  });
  for (const std::string& words : o.setting_words) spec.settings.override_by(parse_settings(words, SettingOrigin::option));
  spec.settings.override_by(o.settings);
  set_base_of_name(o, spec);
  if (o.supposed) apply_what_if(*o.supposed, spec);
  if (const SettingRow* const lacking = lacking_setting(spec.settings)) {
    throw Error(
        fmt::format("{} needs --{} {}", option_of(*lacking), lacking->only_with_key, lacking->only_with),
        fmt::format("set --{} to the required value, or leave out the option that requires it", lacking->only_with_key));
  }
  if (spec.settings.number("input") == input_none && spec.settings.flag("input_exposed").value_or(false))
    throw Error("input_exposed=yes and input=none contradict each other", "leave one of them out");
  return spec;
}

std::shared_ptr<Study> study_of(const StudySpec& spec, const StudyOptions& options) {
  StudyInputs inputs = load_inputs(spec);
  apply_price(options.prices, inputs.machine);
  if (options.supposed) apply_what_if(*options.supposed, inputs);
  auto study = std::make_shared<Study>(spec, std::move(inputs));
  const SettingValue* const base = spec.settings.find("base");
  const ModelFacts& facts = study->job().facts;
  if (base != nullptr && base->origin == SettingOrigin::option && facts.trained_parameters >= facts.parameters) {
    throw Error(
        fmt::format("--base is the format of frozen weights, but all weights of {} are trained", study->model().name),
        "add --lora 16, or leave --base out");
  }
  if (!quantized_format(options.model).empty() && facts.trained_parameters >= facts.parameters) {
    throw Error(
        fmt::format("all weights of {} are trained, but its name says that they are quantized", quote(options.model)),
        "add --lora 16, or name the checkpoint without quantization");
  }
  return study;
}

namespace {

constexpr std::size_t most_studies = 64;

std::vector<std::string> names_in(const std::string& option, const std::string& text) {
  std::error_code ignored;
  if (text.find(',') == std::string::npos || (is_path(text) && std::filesystem::exists(text, ignored))) return {text};
  std::vector<std::string> names;
  const std::vector<std::string> models = model_names();
  for (const std::string& name : comma_separated(text)) {
    // PEFT separates modules by commas, as in llama3-8b@lora=8@lora_layers=q_proj,v_proj.
    const bool is_module = !names.empty() && names.back().find("@lora_layers=") != std::string::npos && !name.empty() &&
                           name.find('@') == std::string::npos && !is_path(name) && !contains(models, name);
    if (is_module) {
      names.back() += "+" + name;
      continue;
    }
    if (name.empty())
      throw Error(fmt::format("{} {} has an empty name", option, quote(text)), "separate names by single commas");
    if (contains(names, name)) throw Error(fmt::format("{} has {} twice", option, quote(name)), "keep only one of them");
    names.push_back(name);
  }
  return names;
}

/// Splits `h100:32` into the machine and its number of GPUs.
NamedStudy with_count(NamedStudy study) {
  std::error_code ignored;
  const std::size_t colon = study.machine.rfind(':');
  const std::string count = colon == std::string::npos ? "" : study.machine.substr(colon + 1);
  const bool is_count = !count.empty() && count.size() <= 7 && count.find_first_not_of("0123456789") == std::string::npos;
  if (std::filesystem::exists(study.machine, ignored)) return study;
  if (colon != std::string::npos && count.empty())
    throw Error(fmt::format("--machine {} lacks the number of GPUs", quote(study.machine)),
                fmt::format("use for example {}8", study.machine));
  if (!is_count) return study;
  study.gpus = std::stoll(count);
  if (study.gpus == 0) throw Error(fmt::format("--machine {} has no GPUs", quote(study.machine)), "use for example h100:8");
  study.machine.resize(colon);
  return study;
}

}  // namespace

std::vector<NamedStudy> studies_named(const StudyOptions& options) {
  std::vector<NamedStudy> studies;
  const std::vector<std::string> machines = names_in("--machine", options.machine);
  for (const std::string& model : names_in("--model", options.model)) {
    for (const std::string& machine : machines) studies.push_back(with_count({model, machine}));
  }
  if (studies.size() > most_studies) {
    throw Error(fmt::format("--model and --machine together give {} studies", studies.size()),
                fmt::format("compare at most {} at a time", most_studies));
  }
  return studies;
}

namespace {

/// Adds an option that takes one of some words. Its default is the present value.
void add_word(const Command& command, const std::string& name, std::string& into, const std::vector<std::string_view>& words,
              const std::string& description) {
  const auto read = [name, &into, words](const std::string& text) {
    if (!contains(words, text)) unknown_choice(name, text, words);
    into = text;
  };
  command.add_option_function(name, read, description).default_str(into).words([words] { return texts(words); });
}

}  // namespace

void add_format_option(const Command& command, ReportOptions& options, const std::vector<Content>& held) {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) {
    if (format.writes == Content::document || format.writes == Content::json || contains(held, format.writes)) {
      names.push_back(format.name);
    }
  }
  add_word(command, "--format", options.format, names, "format of the report");
  add_word(command, "--color", options.color, {"auto", "always", "never"}, "whether the report has colors");
  command.add_switch("--wide", options.wide, "show all columns of tables (format text)");
  command.add_switch("--ascii", options.ascii, "use ASCII characters only (format text)");
  command.add_switch("-q,--quiet", options.quiet, "no warnings, only errors");
}

Option add_output_option(const Command& command, std::string& output, const std::string& description) {
  return command.add_option("-o,--output", output, description).file();
}

void add_report_options(const Command& command, ReportOptions& options, const std::vector<Content>& held) {
  add_format_option(command, options, held);
  add_output_option(command, options.output, "write the report to this file instead of the standard output");
}

}  // namespace ddl
