#pragma once

#include <optional>
#include <string>

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {

/// The model that a file names in addition to the arguments of another tool.
struct WrappedModel {
  ConfigEntry name;
  std::string flavor{};                  ///< the size of a model of torchtitan: `70B`
  std::optional<ConfigEntry> resized{};  ///< the first argument that changes the sizes of this model
};

/// Primus has the arguments of Megatron-LM, torchtitan or MaxText under `modules.pre_trainer.overrides` [AMD-AGI/Primus,
/// examples].
/// FlagScale groups the arguments of Megatron-LM in sections. Renames these arguments to the names in their own tool, so
/// that the tables of this tool apply. Returns the model that the file names; empty if it names none, if the settings are of
/// another tool, or if they wrap a tool that is not read.
[[nodiscard]] std::optional<WrappedModel> unwrap_settings(ConfigEntries& settings);
/// MaxText gives each axis of its mesh a degree within a slice and one among slices: `ici_tensor_parallelism` and
/// `dcn_tensor_parallelism`. Multiplies both, under the name of the first.
void join_meshes(ConfigEntries& settings);
/// In vision-language models of Megatron-LM, `--seq-length` counts the tokens of an image. The tokens of a sample are
/// `--dataloader-seq-length`, or else `--decoder-seq-length`. If one of these is given, removes `--seq-length`
/// [examples/multimodal/multimodal_args.py].
void drop_image_length(ConfigEntries& settings);
/// Replaces an argument that is a section, or names its file, such as `--fsdp_config fsdp.json`, by the section, and
/// Hydra's `--config-path` and `--config-name` by the file that they name. `path`: the file with the argument.
void include_named_sections(ConfigEntries& settings, const std::string& path);

}  // namespace ddl
