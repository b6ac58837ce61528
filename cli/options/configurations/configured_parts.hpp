#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/study_options.hpp"
#include "estimator/inputs/assumptions.hpp"

namespace ddl {

/// Returns the model with the attention kernels of a configuration, and with the parts that the configuration trains in
/// addition to adapters, or freezes: `llama3-8b@lora=8@trained=embedding+head`. `warnings` receives what is not modeled.
[[nodiscard]] std::string with_configured_parts(const Configuration& configuration, const std::string& model,
                                                std::vector<std::string>& warnings);

/// Returns the format of frozen weights in a tool that trains adapters; unset if trained weights have the same format.
/// `checkpoint`: the published name of the model, which may say that its weights are quantized. Throws Error if a
/// configuration without adapters trains a quantized checkpoint.
[[nodiscard]] std::optional<BaseWeights> configured_base(const Configuration& configuration, const std::string& model,
                                                         std::string_view checkpoint, std::vector<std::string>& warnings);

/// Returns the precision in which a configuration trains; empty if it gives none. Without a flag, Hugging Face's Trainer
/// trains in fp32, unless its weights are loaded in half precision [huggingface/transformers, training_args.py].
[[nodiscard]] std::string configured_precision(const Configuration& configuration);

/// Throws Error if a script starts a program with unknown arguments, because one of them may be the batch.
void refuse_unknown_batch(const Configuration& configuration);

/// Returns whether the user's options set a setting.
[[nodiscard]] bool says_setting(const StudyOptions& study, const std::string& key);

/// Returns the optimizer that a configuration names, in which an option of its own may project gradients; empty if it names
/// none.
[[nodiscard]] std::string configured_optimizer(const Configuration& configuration);
/// Sets how the optimizer projects gradients, whether backward updates weights, and tiles of MLPs, unless the user's options
/// set it.
void choose_updates(const Configuration& configuration, StudyOptions& study, std::vector<std::string>& warnings);

/// Sets what a configuration tells PyTorch's allocator, unless the user's options set it.
void choose_allocator(const Configuration& configuration, StudyOptions& study);
/// Sets how trainers of transformers run under FSDP: they exchange gradients after the last micro-batch, unless the file
/// says otherwise, and compute the loss of whole logits.
void choose_trainer_of_shards(const Configuration& configuration, StudyOptions& study);

/// Whether a model that is changed only by adapters has samples of this length by default.
[[nodiscard]] bool has_own_length(const std::string& model, std::int64_t tokens);

/// Returns the argument that names modules to train in addition to adapters, if `model` has no such layer; else null.
[[nodiscard]] const ConfigEntry* unknown_trained_module(const Configuration& configuration, const Model& model);
/// Returns the argument by which the optimizer projects only some matrices of blocks; null if it projects all or none.
[[nodiscard]] const ConfigEntry* partly_projected(const Configuration& configuration, Optimizer optimizer);

}  // namespace ddl
