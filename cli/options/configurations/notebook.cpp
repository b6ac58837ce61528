#include "cli/options/configurations/notebook.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/notebook_calls.hpp"
#include "cli/options/configurations/notebook_code.hpp"
#include "cli/options/configurations/python_calls.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr const char* as_options = "set model and plan by options: recommend MODEL --gpus N";

/// An argument of the Trainer, and an option of this program that gives it.
struct ReplacedArgument {
  std::string_view arguments, unless, hint;
};
constexpr auto replaced_arguments = std::to_array<ReplacedArgument>(
    {{"per-device-train-batch-size gradient-accumulation-steps", "--global-batch --batch-per-gpu",
      "set the batch by an option, such as --global-batch 64 --micro-batches 2"},
     {"model-name-or-path", "--model", "name the trained model with --model"},
     {"max-length max-seq-length model-max-length", "--seq", "set the length by an option, such as --seq 1024"},
     {"bf16 fp16", "--precision", "set the precision by an option, such as --precision bf16"},
     {"gradient-checkpointing", "--recompute", "set the value by an option, such as --recompute full"},
     {"optim adafactor", "--optimizer", "set the value by an option, such as --optimizer adamw"},
     {"load-in-4bit load-in-8bit", "--base", "set the format of frozen weights by an option, such as --base nf4"}});

/// A value in an error: numbers and flags as they are, and texts in quotes.
std::string shown(const std::string& value) {
  const bool is_plain = value == "True" || value == "False" || value.find_first_not_of("0123456789.e-") == std::string::npos;
  constexpr std::size_t most_shown = 24;
  return is_plain && value.size() < most_shown ? value : quote(value);
}

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// Returns the value of a condition about the GPU's support of bf16, which is assumed: `f()` or `not f()`. Unset for other
/// conditions.
std::optional<bool> asks_for_bf16(std::string_view text) {
  while (text.starts_with('(') && text.ends_with("))")) text = trimmed(text.substr(1, text.size() - 2), " \t\r\n");
  const bool is_negated = text.starts_with("not ");
  if (is_negated) text = trimmed(text.substr(4), " \t\r\n");
  const bool is_call = text.ends_with("bf16_supported()") || text.ends_with("bfloat16_supported()");
  if (!is_call || !std::all_of(text.begin(), text.end() - 2, is_in_name)) return std::nullopt;
  return !is_negated;
}

/// Evaluates an expression that depends on the GPU's support of bf16, which is assumed. Returns the chosen part of `X if f()
/// else Y`, or the value `True` or `False` of a condition. Unset for other expressions.
std::optional<std::string> chosen_by_bf16(std::string_view text) {
  const std::size_t condition = text.find(" if "), other = text.find(" else ");
  if (condition != std::string_view::npos && other != std::string_view::npos && condition < other) {
    const auto holds = asks_for_bf16(trimmed(text.substr(condition + 4, other - condition - 4), " \t\r\n"));
    if (!holds) return std::nullopt;
    return std::string(trimmed(*holds ? text.substr(0, condition) : text.substr(other + 6), " \t\r\n"));
  }
  const auto holds = asks_for_bf16(text);
  if (!holds) return std::nullopt;
  return *holds ? "True" : "False";
}

/// Returns the names of the classes that the notebook derives from trainers.
std::set<std::string, std::less<>> trainers_in(const std::vector<CodeCell>& cells) {
  constexpr std::size_t longest_head = 256;
  std::set<std::string, std::less<>> names;
  for (const CodeCell& cell : cells) {
    const std::string_view bare = cell.bare;
    constexpr std::string_view word = "class ";
    for (std::size_t at = bare.find(word); at != std::string_view::npos; at = bare.find(word, at + 1)) {
      const std::string_view head = bare.substr(at + word.size(), longest_head);
      const std::size_t open = head.find_first_of("(:\n");
      if (open == std::string_view::npos || head[open] != '(') continue;
      const std::string_view bases = head.substr(open, head.find(')', open) - open);
      if (bases.find("Trainer") != std::string_view::npos) names.emplace(trimmed(head.substr(0, open)));
    }
  }
  return names;
}

/// Returns the offset in a cell's code at which parameters of a model are frozen. Unset if none are.
std::optional<std::size_t> frozen_in(const CodeCell& cell) {
  const std::string_view bare = cell.bare;
  constexpr std::string_view flag = ".requires_grad";
  for (std::size_t at = bare.find(flag); at != std::string_view::npos; at = bare.find(flag, at + 1)) {
    constexpr std::size_t most_read = 64;
    std::string_view rest = bare.substr(at + flag.size(), most_read);
    const bool is_call = rest.starts_with("_(");
    rest = is_call ? rest.substr(2) : trimmed(rest.substr(0, rest.find('\n')), " \t");
    if (!is_call && (!rest.starts_with('=') || rest.starts_with("=="))) continue;
    const std::string_view value = trimmed(is_call ? rest : rest.substr(1), " \t");
    if (!value.starts_with("True") && !(is_call && value.starts_with(')'))) return at + 1;
  }
  for (const PythonCall& call : python_calls(cell.code)) {
    if (last_name(call.function).starts_with("freeze")) return call.arguments.empty() ? 0 : call.arguments.front().offset;
  }
  return std::nullopt;
}

/// An argument of a notebook's calls.
struct Found {
  ConfigEntry entry;
  bool is_weak = false;   ///< a trainer's value takes precedence
  std::string problem{};  ///< why the value is unknown, although the notebook has it
};

class NotebookReader {
 public:
  NotebookReader(const std::string& text, const std::string& path, const ScriptValues& values)
      : source_(std::make_shared<SourceText>(text, path)),
        cells_(notebook_code(source_->text(), path)),
        names_(joined(cells_)),
        derived_(trainers_in(cells_)),
        values_(values) {}

  NotebookTraining read(const std::string& path) {
    for (const CodeCell& cell : cells_) {
      cell_ = &cell;
      for (const PythonCall& call : python_calls(cell.code)) add(call);
    }
    if (!trainer_) {
      throw Error(
          fmt::format("{} is a notebook without a call of a trainer, and no other code of notebooks is read", quote(path)),
          "pass the script that the notebook starts, or set model and plan by options: recommend MODEL --gpus N");
    }
    change_assigned();
    choose_defaults();
    if (find("lora_r") == nullptr) refuse_frozen();
    // The length of the trainer's samples takes precedence over that of a tokenizer.
    const bool has_length = std::any_of(found_.begin(), found_.end(), [](const Found& each) {
      return gives_length(argument_key(each.entry.key)) && !each.is_weak;
    });
    std::erase_if(
        found_, [&](const Found& each) { return has_length && each.is_weak && gives_length(argument_key(each.entry.key)); });
    take_double_quantization();
    for (Found& each : found_) finish(each);
    return std::move(training_);
  }

 private:
  static std::string joined(const std::vector<CodeCell>& cells) {
    std::string all;
    for (const CodeCell& cell : cells) all += cell.code + "\n";
    return all;
  }

  [[nodiscard]] Error error(std::size_t at, const std::string& message, const char* hint = as_options) const {
    return source_->error(cell_->place_of(at), message, hint);
  }

  void add(const PythonCall& call) {
    const std::size_t at = call.arguments.empty() ? 0 : call.arguments.front().offset;
    const std::string_view name = last_name(call.function);
    refuse_other(call, at);
    if (name == "prepare_model_for_kbit_training" || name == "gradient_checkpointing_enable")
      return add_recomputation(call, at);
    const KnownCall* known = known_call(call.function);
    if (known != nullptr) add_known(*known, call, at);
    // Models that are loaded later are not trained, unless the trainer's call itself loads them.
    if (contains(plain_trainers, name) && !call.arguments.empty()) {
      built_ = cell_;
      built_end_ = call.arguments.back().offset + call.arguments.back().text.size();
    }
  }

  /// Throws Error for trainers whose memory this program does not know.
  void refuse_other(const PythonCall& call, std::size_t at) const {
    const std::string_view name = last_name(call.function);
    const bool is_trainer = name.ends_with("Trainer");
    if (does_more_than_tune(name)) {
      throw error(at, fmt::format("'{}': samples are generated or compared in addition to training", call.function),
                  "use options for the training step alone: --model, --gpus, --global-batch");
    }
    const bool is_arguments = name.ends_with("TrainingArguments") && known_call(call.function) == nullptr;
    const std::string_view module = call.function.size() == name.size()
                                        ? std::string_view()
                                        : std::string_view(call.function).substr(0, call.function.size() - name.size());
    const bool is_plain = contains(plain_trainers, name) &&
                          (module.empty() || module.starts_with("transformers.") || module.starts_with("trl."));
    if (is_arguments || (is_trainer && !is_plain) || derived_.contains(call.function)) {
      throw error(at,
                  fmt::format("'{}': of a notebook, only Trainer, Seq2SeqTrainer, SFTTrainer and their arguments are read",
                              call.function));
    }
  }

  /// Without the keyword, and if it is true, the model recomputes [huggingface/peft, src/peft/utils/other.py].
  void add_recomputation(const PythonCall& call, std::size_t at) {
    const PythonArgument* given =
        find_where(call.arguments, [](const PythonArgument& each) { return each.name == "use_gradient_checkpointing"; });
    const auto value = given == nullptr ? std::optional<std::string>("True") : value_of(*given);
    if (call.has_unpacked) throw error(at, unpacked_in(call));
    if (value == "False") return;
    set("gradient_checkpointing", value.value_or(given == nullptr ? "" : given->text), value.has_value(), at, true);
  }

  static std::string unpacked_in(const PythonCall& call) {
    return fmt::format("'{}': arguments that begin with '*' are known only when the notebook runs", call.function);
  }

  void add_known(const KnownCall& known, const PythonCall& call, std::size_t at) {
    const bool is_inside = built_ == cell_ && at < built_end_;
    if (built_ != nullptr && !is_inside && known.kind != CallKind::trainer) return;
    if (known.kind == CallKind::other_adapter)
      throw error(at, fmt::format("'{}': these adapters are not read", call.function));
    if (call.has_unpacked && known.kind != CallKind::tokenizer) throw error(at, unpacked_in(call));
    if (known.kind == CallKind::trainer) add_trainer(known, call, at);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const PythonArgument& argument = call.arguments[i];
      const bool is_model = known.kind == CallKind::model && argument.name.empty() && i == 0;
      const std::string name = is_model ? "model_name_or_path" : argument_of(known.kind, argument.name);
      if (!name.empty()) add(known, name, argument);
    }
    const bool is_unsloths = is_of_unsloth(call.function);
    if (known.kind == CallKind::adapter) {
      // [huggingface/peft, src/peft/tuners/lora/config.py; unslothai/unsloth, unsloth/models/llama.py, get_peft_model]
      usual("lora_r", is_unsloths ? "16" : "8", at);
      usual("lora_dropout", "0", at);
      usual("use_peft", "True", at);
    }
    if (is_unsloths) {
      usual("gradient_checkpointing", "True", at);
      if (known.kind == CallKind::model) add_unsloths_weights(call, at);
    } else if (known.kind == CallKind::model) {
      is_loaded_ = true;
    }
  }

  /// Unsloth loads weights in four bits with quantized scales unless a keyword asks for others, and in bf16 if `dtype` is
  /// not given [unslothai/unsloth, unsloth/models/loader.py and llama.py, from_pretrained].
  void add_unsloths_weights(const PythonCall& call, std::size_t at) {
    constexpr std::array<std::string_view, 5> others{"load_in_8bit", "load_in_16bit", "load_in_fp8", "full_finetuning",
                                                     "qat_scheme"};
    bool is_default = true;
    for (const PythonArgument& each : call.arguments) {
      const auto value = contains(others, each.name) ? value_of(each) : std::optional<std::string>("False");
      if (!value) set("load_in_4bit", each.text, false, each.offset, false);
      if (value != "False" && value != "null") is_default = false;
    }
    if (is_default) usual("load_in_4bit", "True", at);
    usual("bnb_4bit_use_double_quant", "True", at);
    usual("torch_dtype", "bfloat16", at);
  }

  void add_trainer(const KnownCall& known, const PythonCall& call, std::size_t at) {
    if (!trainer_) trainer_ = cell_->place_of(at);
    if (known.function == "SFTConfig") has_own_arguments_ = true;
    if (known.function.ends_with("TrainingArguments")) has_arguments_ = true;
    if (has_own_arguments_ && has_arguments_)
      throw error(at, fmt::format("'{}': the notebook has arguments of two trainers", call.function));
    if (known.function != "SFTTrainer") return;
    is_tuned_ = true;
    std::size_t position = 0;
    for (const PythonArgument& each : call.arguments) {
      const bool is_first = each.name.empty() && position == 0, is_second = each.name.empty() && position == 1;
      if (each.name.empty()) ++position;
      if (each.name == "args" || is_second) is_given_arguments_ = each.text != "None";
      if (each.name != "model" && !is_first) continue;
      const std::optional<std::string> model = value_of(each);
      if (model && model != "null") set("model_name_or_path", *model, true, each.offset, false);
    }
  }

  /// Adds what the libraries do if the notebook says nothing.
  void choose_defaults() {
    if (is_tuned_ && is_given_arguments_ && !has_own_arguments_ && !has_arguments_)
      throw source_->error(*trainer_, "the trainer's arguments come from a call that is not read", as_options);
    for (auto& [name, entry] : usual_) {
      if (find(name) == nullptr) found_.push_back({std::move(entry), true});
    }
    const bool has_trls = has_own_arguments_ || (is_tuned_ && !has_arguments_);
    if (has_trls) training_.program = "trl";
    // [huggingface/transformers, training_args.py]
    if (!has_trls) add_default("per_device_train_batch_size", "8");
    // TRL adds only its length to the Trainer's arguments [huggingface/trl, trl/trainer/sft_trainer.py and sft_config.py].
    const bool has_length = std::any_of(found_.begin(), found_.end(),
                                        [](const Found& each) { return gives_length(argument_key(each.entry.key)); });
    if (is_tuned_ && !has_trls && !has_length) add_default("max_length", "1024");
    const auto asks_for = [&](const char* name) { return find(name) != nullptr && find(name)->entry.value == "True"; };
    const bool is_quantized = asks_for("load_in_4bit") || asks_for("load_in_8bit");
    if (!is_loaded_ || is_quantized || find("lora_r") == nullptr || find("torch_dtype") != nullptr) return;
    // [huggingface/transformers, modeling_utils.py, from_pretrained]
    add_default("torch_dtype", "float32");
    training_.warnings.push_back(fmt::format(
        "{} does not set the precision of the loaded weights: fp32 is assumed, as before version 5 of transformers",
        quote(source_->origin())));
  }

  void add_default(const std::string& name, const std::string& value) {
    if (find(name) == nullptr) found_.push_back({entry_of(name, value, true, *trainer_), true});
  }

  /// Throws Error if a part of the model is frozen.
  void refuse_frozen() const {
    for (const CodeCell& cell : cells_) {
      if (const auto at = frozen_in(cell))
        throw source_->error(cell.place_of(*at), "only a part of the model is trained", as_options);
    }
  }

  /// Arguments that the notebook sets as attributes have values that only running it gives.
  void change_assigned() {
    constexpr std::array<std::string_view, 11> added{"per_device_train_batch_size",
                                                     "gradient_accumulation_steps",
                                                     "gradient_checkpointing",
                                                     "max_length",
                                                     "max_seq_length",
                                                     "model_max_length",
                                                     "bf16",
                                                     "fp16",
                                                     "optim",
                                                     "fsdp",
                                                     "deepspeed"};
    const auto& assigned = names_.assigned_attributes();
    for (Found& each : found_) {
      const std::string name = each.entry.key.substr(2);
      const bool is_rank = name == "lora_r" && assigned.contains("r");
      const bool is_list = name == "lora_target_modules" && assigned.contains("target_modules");
      if (is_rank || is_list || assigned.contains(name))
        each.problem = fmt::format("'{}' is also set as an attribute", name);
    }
    for (const std::string_view each : added) {
      const std::string name(each);
      if (!assigned.contains(each) || find(name) != nullptr) continue;
      found_.push_back({.entry = entry_of(name, "", false, *trainer_),
                        .is_weak = each.ends_with("length"),
                        .problem = fmt::format("'{}' is set as an attribute", name)});
    }
  }

  /// Takes the keyword that quantizes the scales of weights in four bits.
  void take_double_quantization() {
    const Found* doubles = find("bnb_4bit_use_double_quant");
    if (doubles == nullptr) return;
    Found* four = find("load_in_4bit");
    const bool is_known = doubles->entry.is_known && doubles->problem.empty();
    const bool is_four = four != nullptr && four->entry.value == "True" && four->problem.empty();
    if (is_four && !is_known) four->problem = "'bnb_4bit_use_double_quant' has an unknown value";
    const bool is_double = is_four && is_known && doubles->entry.value == "True";
    if (is_double) training_.double_quantized = four->entry;
    std::erase_if(found_, [&](const Found& each) {
      return each.entry.key == "--bnb_4bit_use_double_quant" || (is_double && each.entry.key == "--load_in_4bit");
    });
  }

  void finish(Found& found) {
    const std::string key = argument_key(found.entry.key);
    if (!found.problem.empty() && row_named(trl_arguments.rows, key) != nullptr) {
      const ReplacedArgument* option =
          find_where(replaced_arguments, [&](const ReplacedArgument& each) { return is_word_of(each.arguments, key); });
      training_.refusals.push_back({.at = std::move(found.entry),
                                    .message = std::move(found.problem),
                                    .hint = std::string(option == nullptr ? as_options : option->hint),
                                    .unless = option == nullptr ? std::string_view() : option->unless});
      return;
    }
    if (!found.problem.empty()) found.entry.is_known = false;
    add_setting(training_.settings, std::move(found.entry));
  }

  /// Returns the value of an argument, assuming GPUs that support bf16. Unset if only running the notebook shows the value.
  [[nodiscard]] std::optional<std::string> value_of(const PythonArgument& argument) const {
    const std::string text = chosen_by_bf16(argument.text).value_or(argument.text);
    const bool is_name = !text.empty() && is_in_name(text[0]) && (text[0] < '0' || text[0] > '9') && text != "True" &&
                         text != "False" && text != "None";
    for (const auto& [given, value] : values_) {
      if (is_name && given == text) return value;
    }
    return names_.literal(text);
  }

  void add(const KnownCall& known, const std::string& name, const PythonArgument& argument) {
    std::optional<std::string> value = value_of(argument);
    if (name == "torch_dtype" && value == "null") return;
    if (name == "use_flash_attention_2") {  // the older name
      if (value == "True") set("attn_implementation", "flash_attention_2", true, argument.offset, false);
      return;
    }
    // Unsloth's own checkpointing recomputes all blocks.
    if (name == "gradient_checkpointing" && value == "unsloth") value = "True";
    if (known.kind == CallKind::tokenizer && !value) return;
    const bool is_weak = known.kind == CallKind::tokenizer || (known.kind == CallKind::adapter && name != "lora_r");
    set(name, value.value_or(argument.text), value.has_value(), argument.offset, is_weak);
  }

  /// Adds an argument. A weak value counts if there is no other. The values of several calls must be equal.
  void set(const std::string& name, const std::string& value, bool is_known, std::size_t at, bool is_weak) {
    ConfigEntry entry = entry_of(name, value, is_known, cell_->place_of(at));
    Found* before = find(name);
    if (before == nullptr) {
      if (found_.size() == most_settings) throw error(at, fmt::format("more than {} arguments", most_settings));
      found_.push_back({std::move(entry), is_weak});
    } else if (before->entry.value == value) {
      before->is_weak = before->is_weak && is_weak;
    } else if (before->is_weak == is_weak ||
               (name == "gradient_checkpointing" && (is_weak ? value : before->entry.value) == "True")) {
      // A model that recomputes continues to do so, whatever the trainer's argument is.
      if (before->problem.empty())
        before->problem = fmt::format("'{}' is {} and {}", name, shown(before->entry.value), shown(value));
      before->entry.value_offset = entry.value_offset;
      before->is_weak = before->is_weak && is_weak;
    } else if (!is_weak) {
      *before = {std::move(entry), false};
    }
  }

  /// Adds a library's default.
  void usual(const std::string& name, const std::string& value, std::size_t at) {
    const bool is_known = std::any_of(usual_.begin(), usual_.end(), [&](const auto& each) { return each.first == name; });
    if (!is_known) usual_.emplace_back(name, entry_of(name, value, true, cell_->place_of(at)));
  }

  [[nodiscard]] ConfigEntry entry_of(const std::string& name, const std::string& value, bool is_known,
                                     std::size_t place) const {
    return {.key = "--" + name,
            .value = value,
            .is_known = is_known,
            .source = source_,
            .key_offset = place,
            .value_offset = place};
  }

  [[nodiscard]] Found* find(const std::string& name) {
    return find_where(found_, [key = "--" + name](const Found& each) { return each.entry.key == key; });
  }

  std::shared_ptr<const SourceText> source_;
  std::vector<CodeCell> cells_;
  PythonNames names_;
  std::set<std::string, std::less<>> derived_;  ///< classes that the notebook derives from trainers
  const ScriptValues& values_;
  NotebookTraining training_;
  std::vector<Found> found_;
  std::vector<std::pair<std::string, ConfigEntry>> usual_;  ///< defaults of libraries
  const CodeCell* cell_ = nullptr;
  const CodeCell* built_ = nullptr;  ///< the cell that makes the trainer
  std::size_t built_end_ = 0;        ///< the end of this call's arguments
  std::optional<std::size_t> trainer_;
  bool is_loaded_ = false;           ///< transformers loads the model
  bool has_arguments_ = false;       ///< TrainingArguments
  bool has_own_arguments_ = false;   ///< SFTConfig
  bool is_tuned_ = false;            ///< SFTTrainer
  bool is_given_arguments_ = false;  ///< with an object of arguments
};

}  // namespace

bool is_notebook(const std::string& path) { return lower_case(path).ends_with(".ipynb"); }

NotebookTraining notebook_training(const std::string& text, const std::string& path, const ScriptValues& values) {
  return NotebookReader(text, path, values).read(path);
}

}  // namespace ddl
