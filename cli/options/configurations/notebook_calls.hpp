#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ddl {

/// What a call says about a training.
enum class CallKind { trainer, adapter, other_adapter, model, quantization, tokenizer };

/// A call of transformers, PEFT or TRL, which is recognized by the end of its name.
struct KnownCall {
  std::string_view function;
  CallKind kind;
};

/// The trainers whose arguments are read.
inline constexpr std::array<std::string_view, 3> plain_trainers{"Trainer", "Seq2SeqTrainer", "SFTTrainer"};

/// Returns the last part of a dotted name.
[[nodiscard]] constexpr std::string_view last_name(std::string_view function) {
  return function.substr(function.rfind('.') + 1);
}
/// Whether a class of Unsloth has the function: `FastLanguageModel.from_pretrained`.
[[nodiscard]] bool is_of_unsloth(std::string_view function);
/// Whether a class of TRL, `DPOTrainer` or `DPOConfig`, does more than supervised fine-tuning.
[[nodiscard]] bool does_more_than_tune(std::string_view name);
/// Returns the facts about a call, by its dotted name; null if the call is unknown.
[[nodiscard]] const KnownCall* known_call(std::string_view function);
/// Returns the Trainer's argument with the meaning of a call's keyword; empty if it changes neither time nor memory.
[[nodiscard]] std::string argument_of(CallKind kind, const std::string& keyword);

}  // namespace ddl
