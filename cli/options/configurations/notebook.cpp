#include "cli/options/configurations/notebook.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/python_calls.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* as_options = "give model and plan as options: recommend MODEL --gpus N";

/// What a call says about a training.
enum class CallKind { trainer, adapter, other_adapter, model, quantization, tokenizer, refused };

/// A call of transformers, PEFT, TRL or Unsloth. `function` is the end of its name.
struct KnownCall {
  std::string_view function;
  CallKind kind;
};
/// Sources: huggingface/transformers, training_args.py and modeling_utils.py; huggingface/trl, trl/trainer;
/// huggingface/peft, src/peft/tuners/lora/config.py; unslothai/unsloth, unsloth/models/loader.py and llama.py. The first row
/// that matches counts.
constexpr std::array<KnownCall, 19> known_calls{{{"Seq2SeqTrainingArguments", CallKind::trainer},
                                                 {"TrainingArguments", CallKind::trainer},
                                                 {"SFTConfig", CallKind::trainer},
                                                 {"SFTTrainer", CallKind::trainer},
                                                 {"GRPOConfig", CallKind::refused},
                                                 {"PPOConfig", CallKind::refused},
                                                 {"DPOConfig", CallKind::refused},
                                                 {"ORPOConfig", CallKind::refused},
                                                 {"KTOConfig", CallKind::refused},
                                                 {"RewardConfig", CallKind::refused},
                                                 {"LoraConfig", CallKind::adapter},
                                                 {".get_peft_model", CallKind::adapter},
                                                 {"PrefixTuningConfig", CallKind::other_adapter},
                                                 {"PromptTuningConfig", CallKind::other_adapter},
                                                 {"PromptEncoderConfig", CallKind::other_adapter},
                                                 {"IA3Config", CallKind::other_adapter},
                                                 {"BitsAndBytesConfig", CallKind::quantization},
                                                 {"tokenizer", CallKind::tokenizer},
                                                 {".from_pretrained", CallKind::model}}};

const KnownCall* known_call(std::string_view function) {
  const auto found = std::find_if(known_calls.begin(), known_calls.end(), [&](const KnownCall& each) {
    if (!function.ends_with(each.function)) return false;
    const bool is_whole = function.size() == each.function.size() || each.function.starts_with('.') ||
                          function[function.size() - each.function.size() - 1] == '.';
    if (each.kind != CallKind::model) return is_whole;
    // Other objects, and trained adapters, are loaded in the same way.
    constexpr std::array<std::string_view, 5> others{"Tokenizer", "Processor", "Config", "Extractor", "PeftModel"};
    return std::none_of(others.begin(), others.end(),
                        [&](std::string_view word) { return function.find(word) != std::string_view::npos; });
  });
  return found == known_calls.end() ? nullptr : &*found;
}

/// A keyword of a call, and the Trainer's argument with the same meaning; empty: the keyword's own name.
struct Keyword {
  CallKind kind;
  std::string_view name, argument;
};
constexpr std::array<Keyword, 14> keywords{{{CallKind::adapter, "r", "lora_r"},
                                            {CallKind::adapter, "target_modules", "lora_target_modules"},
                                            {CallKind::adapter, "lora_dropout", ""},
                                            {CallKind::adapter, "modules_to_save", ""},
                                            {CallKind::adapter, "use_dora", ""},
                                            {CallKind::adapter, "use_gradient_checkpointing", "gradient_checkpointing"},
                                            {CallKind::model, "model_name", "model_name_or_path"},
                                            {CallKind::model, "pretrained_model_name_or_path", "model_name_or_path"},
                                            {CallKind::model, "max_seq_length", ""},
                                            {CallKind::model, "load_in_4bit", ""},
                                            {CallKind::model, "load_in_8bit", ""},
                                            {CallKind::quantization, "load_in_4bit", ""},
                                            {CallKind::quantization, "load_in_8bit", ""},
                                            {CallKind::tokenizer, "max_length", ""}}};

/// Keywords of trainers with objects as their values, which change neither time nor memory or are read from their own calls.
constexpr std::array<std::string_view, 14> objects{
    "model",         "args",      "tokenizer",       "processing_class", "train_dataset",    "eval_dataset", "peft_config",
    "data_collator", "callbacks", "compute_metrics", "formatting_func",  "dataset_num_proc", "optimizers",   "model_init"};

/// The code of a notebook, and where its lines begin in the file.
struct NotebookCode {
  std::vector<std::string> cells;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>>
      lines;     ///< of each cell: offsets in the code and in the file
  int lost = 0;  ///< lines that were not found in the file
};

/// Appends a cell's text. Lines for the shell and for IPython itself become comments.
void add_cell(const std::string& source, const std::string& text, std::size_t& searched, NotebookCode& code) {
  std::string cell;
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    std::string line = source.substr(at, end - at);
    at = end + 1;
    // The file has the line as a text of JSON, in which other programs may write some letters in another way.
    constexpr int most_lost = 16;
    const std::string written = Json(line).dump(-1, ' ', false, Json::error_handler_t::replace);
    const bool is_searched = !line.empty() && code.lost < most_lost;
    const std::size_t found = is_searched ? text.find(written.substr(0, written.size() - 1), searched) : std::string::npos;
    if (is_searched && found == std::string::npos) ++code.lost;
    if (found != std::string::npos) searched = found + 1;
    lines.emplace_back(cell.size(), found == std::string::npos ? searched : found + 1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && (line[first] == '!' || line[first] == '%')) line[first] = '#';
    cell += line + "\n";
  }
  code.cells.push_back(std::move(cell));
  code.lines.push_back(std::move(lines));
}

NotebookCode code_of(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("cells") || !json["cells"].is_array())
    throw Error(fmt::format("{} is not a notebook: it has no list 'cells'", quote(path)), as_options);
  NotebookCode code;
  std::size_t searched = 0;
  const Json& cells = json["cells"];
  for (const Json& cell : cells) {
    if (!cell.is_object() || cell.value("cell_type", Json()) != "code" || !cell.contains("source")) continue;
    const Json& source = cell["source"];
    std::string joined;
    if (source.is_string()) joined = source.get<std::string>();
    if (source.is_array()) {
      for (const Json& line : source) joined += line.is_string() ? line.get<std::string>() : std::string();
    }
    if (!joined.starts_with("%%")) add_cell(joined, text, searched, code);
  }
  return code;
}

class NotebookReader {
 public:
  NotebookReader(const std::string& text, const std::string& path, const ScriptValues& values)
      : code_(code_of(text, path)),
        source_(std::make_shared<SourceText>(text, path)),
        names_(joined(code_.cells)),
        values_(values) {}

  NotebookTraining read(const std::string& path) {
    for (cell_ = 0; cell_ < code_.cells.size(); ++cell_) {
      for (const PythonCall& call : python_calls(code_.cells[cell_])) add(call);
    }
    if (!has_trainer_) {
      throw Error(
          fmt::format("{} is a notebook, of which only the calls of a trainer are read, and it has none", quote(path)),
          "give the script that it starts, or model and plan as options: recommend MODEL --gpus N");
    }
    refuse_frozen();
    // The length of the trainer's samples takes precedence over that of a tokenizer.
    const bool has_length = std::any_of(training_.settings.begin(), training_.settings.end(), [&](const ConfigEntry& each) {
      return gives_length(argument_key(each.key)) && !is_weak(each.key);
    });
    std::erase_if(training_.settings,
                  [&](const ConfigEntry& each) { return has_length && each.key == "--max_length" && is_weak(each.key); });
    return std::move(training_);
  }

 private:
  static std::string joined(const std::vector<std::string>& cells) {
    std::string all;
    for (const std::string& cell : cells) all += cell + "\n";
    return all;
  }

  void add(const PythonCall& call) {
    const std::size_t at = call.arguments.empty() ? 0 : call.arguments.front().offset;
    if (call.function == "prepare_model_for_kbit_training" || call.function.ends_with(".gradient_checkpointing_enable"))
      return set("gradient_checkpointing", "True", true, at, true);
    const KnownCall* known = known_call(call.function);
    if (known != nullptr) add_known(*known, call, at);
    // What is loaded later is no part of the training.
    if (call.function.ends_with("Trainer")) is_built_ = true;
  }

  void add_known(const KnownCall& known, const PythonCall& call, std::size_t at) {
    if (known.kind == CallKind::refused) {
      throw source_->error(
          place_of(at),
          fmt::format("'{}': it generates samples, or compares several, in addition to training", call.function),
          "give options for the training step alone: --model, --gpus, --global-batch");
    }
    if (is_built_ && known.kind != CallKind::trainer) return;
    if (known.kind == CallKind::other_adapter)
      throw source_->error(place_of(at), fmt::format("'{}': these adapters are not read", call.function), as_options);
    if (known.kind == CallKind::trainer) has_trainer_ = true;
    if (known.function.starts_with("SFT")) training_.program = "trl";
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const PythonArgument& argument = call.arguments[i];
      const bool is_model = known.kind == CallKind::model && argument.name.empty() && i == 0;
      const std::string name = is_model ? "model_name_or_path" : argument_of(known.kind, argument.name);
      if (!name.empty()) add(known, name, argument);
    }
    if (known.kind != CallKind::adapter) return;
    // Without a rank, the libraries have their own.
    set("lora_r", known.function == "LoraConfig" ? "8" : "16", true, at, true);
    set("use_peft", "True", true, at, true);
  }

  /// Throws Error if a part of the model is frozen, and no adapters are trained in place of it.
  void refuse_frozen() const {
    const bool has_adapters = std::any_of(training_.settings.begin(), training_.settings.end(),
                                          [](const ConfigEntry& each) { return each.key == "--lora_r"; });
    const std::size_t frozen = source_->text().find("requires_grad = False");
    if (has_adapters || frozen == std::string::npos) return;
    throw source_->error(frozen, "only a part of the model is trained", as_options);
  }

  [[nodiscard]] bool is_weak(const std::string& key) const {
    return std::find(weak_.begin(), weak_.end(), key) != weak_.end();
  }

  static std::string argument_of(CallKind kind, const std::string& name) {
    if (name.empty()) return {};
    if (kind == CallKind::trainer)
      return std::find(objects.begin(), objects.end(), name) == objects.end() ? name : std::string();
    const auto found = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const Keyword& each) { return each.kind == kind && each.name == name; });
    if (found == keywords.end()) return {};
    return std::string(found->argument.empty() ? found->name : found->argument);
  }

  void add(const KnownCall& known, const std::string& name, const PythonArgument& argument) {
    std::optional<std::string> value = names_.literal(argument.text);
    for (const auto& [given, its_value] : values_) {
      if (given == argument.text) value = its_value;
    }
    // GPUs with bf16 are assumed, as with `bf16=True`.
    const bool asks = argument.text.find("bf16_supported()") != std::string::npos ||
                      argument.text.find("bfloat16_supported()") != std::string::npos;
    if (asks) value = argument.text.starts_with("not ") ? "False" : "True";
    // Unsloth's own checkpointing recomputes all blocks.
    if (name == "gradient_checkpointing" && value == "unsloth") value = "True";
    const bool is_weak_value = known.kind == CallKind::tokenizer || known.kind == CallKind::adapter;
    if (known.kind == CallKind::tokenizer && !value) return;
    set(name, value.value_or(argument.text), value.has_value(), argument.offset, is_weak_value && name != "lora_r");
  }

  /// Adds an argument. A weak value counts if there is no other. The values of several calls must be equal.
  void set(const std::string& name, const std::string& value, bool is_known, std::size_t offset, bool is_weak_value) {
    const std::size_t at = place_of(offset);
    ConfigEntry entry{
        .key = "--" + name, .value = value, .is_known = is_known, .source = source_, .key_offset = at, .value_offset = at};
    const auto before = std::find_if(training_.settings.begin(), training_.settings.end(),
                                     [&](const ConfigEntry& each) { return each.key == entry.key; });
    if (before == training_.settings.end()) {
      if (is_weak_value) weak_.push_back(entry.key);
      add_setting(training_.settings, std::move(entry));
    } else if (is_weak_value) {
      return;
    } else if (std::erase(weak_, entry.key) > 0) {
      *before = std::move(entry);
    } else if (before->value != value) {
      before->is_known = false;
      before->value = fmt::format("{} or {}", before->value, value);
    }
  }

  /// Returns the offset in the file of an offset in the code of the current cell.
  [[nodiscard]] std::size_t place_of(std::size_t offset) const {
    const auto& lines = code_.lines[cell_];
    const auto line = std::upper_bound(lines.begin(), lines.end(), offset,
                                       [](std::size_t at, const auto& each) { return at < each.first; });
    if (line == lines.begin()) return 0;
    const auto& [start, place] = *(line - 1);
    return std::min(place + (offset - start), source_->text().size());
  }

  NotebookCode code_;
  std::shared_ptr<const SourceText> source_;
  PythonNames names_;
  const ScriptValues& values_;
  NotebookTraining training_;
  std::vector<std::string> weak_;  ///< arguments that a trainer's value replaces
  std::size_t cell_ = 0;
  bool has_trainer_ = false, is_built_ = false;
};

}  // namespace

bool is_notebook(const std::string& path) { return path.ends_with(".ipynb"); }

NotebookTraining notebook_training(const std::string& text, const std::string& path, const ScriptValues& values) {
  return NotebookReader(text, path, values).read(path);
}

}  // namespace ddl
