#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/script_values.hpp"

namespace ddl {

/// Maximum size of a notebook, in bytes. Notebooks may contain pictures.
inline constexpr std::size_t most_notebook_bytes = std::size_t{1} << 26U;

/// The training in a notebook.
struct NotebookTraining {
  ConfigEntries settings;                         ///< the arguments of Hugging Face's Trainer
  std::string program;                            ///< the tool whose defaults apply: `trl`; empty: the Trainer itself
  std::optional<ConfigEntry> double_quantized{};  ///< the argument of frozen weights in 4 bits with quantized scales
  std::vector<Refusal> refusals{};                ///< arguments whose values are unknown although the notebook has them
  std::vector<std::string> warnings{};
};

[[nodiscard]] bool is_notebook(const std::string& path);

/// Reads the literal arguments of the calls in a notebook that configure a training of transformers, PEFT or TRL, such as
/// `TrainingArguments(per_device_train_batch_size=2)` and `LoraConfig(r=16)`. Nothing is run: names are replaced only if the
/// notebook sets them once, to a literal, or if the user gives their `values`. Throws Error if the text is not a notebook,
/// or if the notebook calls no trainer, or a trainer other than Trainer, Seq2SeqTrainer and SFTTrainer.
[[nodiscard]] NotebookTraining notebook_training(const std::string& text, const std::string& path,
                                                 const ScriptValues& values);

}  // namespace ddl
