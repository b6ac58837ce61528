#include "cli/options/configurations/notebook_calls.hpp"

#include <algorithm>

#include "core/find.hpp"

namespace ddl {
namespace {

/// Sources: huggingface/transformers, training_args.py and modeling_utils.py; huggingface/trl, trl/trainer;
/// huggingface/peft, src/peft/tuners. The first row that matches counts.
constexpr auto known_calls = std::to_array<KnownCall>({{"Seq2SeqTrainingArguments", CallKind::trainer},
                                                       {"TrainingArguments", CallKind::trainer},
                                                       {"SFTConfig", CallKind::trainer},
                                                       {"SFTTrainer", CallKind::trainer},
                                                       {"LoraConfig", CallKind::adapter},
                                                       {"PrefixTuningConfig", CallKind::other_adapter},
                                                       {"PromptTuningConfig", CallKind::other_adapter},
                                                       {"PromptEncoderConfig", CallKind::other_adapter},
                                                       {"IA3Config", CallKind::other_adapter},
                                                       {"AdaLoraConfig", CallKind::other_adapter},
                                                       {"LoHaConfig", CallKind::other_adapter},
                                                       {"LoKrConfig", CallKind::other_adapter},
                                                       {"VeraConfig", CallKind::other_adapter},
                                                       {"OFTConfig", CallKind::other_adapter},
                                                       {"BOFTConfig", CallKind::other_adapter},
                                                       {"BitsAndBytesConfig", CallKind::quantization},
                                                       {"tokenizer", CallKind::tokenizer},
                                                       {"from_pretrained", CallKind::model}});

/// Classes of TRL that do more than supervised fine-tuning, without `Trainer` or `Config` [huggingface/trl, trl/trainer].
constexpr std::array<std::string_view, 20> other_training{
    "GRPO", "PPO",    "PPOv2", "DPO", "OnlineDPO", "ORPO",      "KTO",  "Reward",  "RLOO",         "BCO",
    "CPO",  "NashMD", "XPO",   "GKD", "PRM",       "AlignProp", "DDPO", "MiniLLM", "Distillation", "IterativeSFT"};
/// A keyword of a call, and the Trainer's argument with the same meaning; empty: the keyword's own name.
struct Keyword {
  CallKind kind;
  std::string_view name, argument;
};
constexpr auto keywords =
    std::to_array<Keyword>({{CallKind::adapter, "r", "lora_r"},
                            {CallKind::adapter, "target_modules", "lora_target_modules"},
                            {CallKind::adapter, "lora_dropout", ""},
                            {CallKind::adapter, "modules_to_save", ""},
                            {CallKind::adapter, "use_dora", ""},
                            {CallKind::adapter, "use_gradient_checkpointing", "gradient_checkpointing"},
                            {CallKind::model, "model_name", "model_name_or_path"},
                            {CallKind::model, "pretrained_model_name_or_path", "model_name_or_path"},
                            {CallKind::model, "dtype", "torch_dtype"},
                            {CallKind::model, "use_gradient_checkpointing", "gradient_checkpointing"},
                            {CallKind::quantization, "load_in_4bit", ""},
                            {CallKind::quantization, "load_in_8bit", ""},
                            {CallKind::quantization, "bnb_4bit_use_double_quant", ""},
                            {CallKind::tokenizer, "max_length", ""}});

/// Keywords of trainers with objects as their values, which change neither time nor memory or are read from their own calls.
constexpr std::array<std::string_view, 14> objects{
    "model",         "args",      "tokenizer",       "processing_class", "train_dataset",    "eval_dataset", "peft_config",
    "data_collator", "callbacks", "compute_metrics", "formatting_func",  "dataset_num_proc", "optimizers",   "model_init"};
/// Keywords of models that change neither time nor memory, or are read from their own calls [huggingface/transformers,
/// modeling_utils.py, from_pretrained].
constexpr std::array<std::string_view, 22> of_loading{"quantization_config",
                                                      "device_map",
                                                      "trust_remote_code",
                                                      "token",
                                                      "use_auth_token",
                                                      "revision",
                                                      "cache_dir",
                                                      "low_cpu_mem_usage",
                                                      "num_labels",
                                                      "id2label",
                                                      "label2id",
                                                      "problem_type",
                                                      "use_cache",
                                                      "use_safetensors",
                                                      "ignore_mismatched_sizes",
                                                      "local_files_only",
                                                      "force_download",
                                                      "pad_token_id",
                                                      "eos_token_id",
                                                      "full_finetuning",
                                                      "load_in_16bit",
                                                      "use_exact_model_name"};

}  // namespace

bool does_more_than_tune(std::string_view name) {
  constexpr std::string_view trainer = "Trainer", config = "Config";
  if (name.ends_with(trainer)) return contains(other_training, name.substr(0, name.size() - trainer.size()));
  return name.ends_with(config) && contains(other_training, name.substr(0, name.size() - config.size()));
}

bool is_of_unsloth(std::string_view function) {
  const std::size_t dot = function.rfind('.');
  return dot != std::string_view::npos && last_name(function.substr(0, dot)).starts_with("Fast");
}

const KnownCall* known_call(std::string_view function) {
  static constexpr KnownCall adapter{"get_peft_model", CallKind::adapter};
  const std::string_view name = last_name(function);
  if (name == adapter.function) return is_of_unsloth(function) ? &adapter : nullptr;
  const KnownCall* found = find_where(known_calls, [&](const KnownCall& each) { return each.function == name; });
  if (found == nullptr || found->kind != CallKind::model) return found;
  // Other objects, and trained adapters, are loaded in the same way.
  constexpr std::array<std::string_view, 6> others{"okenizer", "Processor", "Config", "Extractor", "PeftModel", "Trainer"};
  const bool is_other = std::any_of(others.begin(), others.end(),
                                    [&](std::string_view word) { return function.find(word) != std::string_view::npos; });
  return is_other ? nullptr : found;
}

std::string argument_of(CallKind kind, const std::string& keyword) {
  if (keyword.empty() || (kind == CallKind::trainer && contains(objects, keyword))) return {};
  if (kind == CallKind::trainer) return keyword;
  const Keyword* found =
      find_where(keywords, [&](const Keyword& each) { return each.kind == kind && each.name == keyword; });
  if (found != nullptr) return std::string(found->argument.empty() ? found->name : found->argument);
  return kind == CallKind::model && !contains(of_loading, keyword) ? keyword : std::string();
}

}  // namespace ddl
