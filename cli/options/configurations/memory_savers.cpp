#include "cli/options/configurations/memory_savers.hpp"

#include <array>
#include <span>

#include "cli/options/configurations/configured_parts.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

/// Arguments of all tools that can only lower memory. Sources: the documentation of each tool, as cited in its table in
/// cli/tools.
constexpr std::array<std::string_view, 27> savers{
    // The optimizer updates a weight when its gradient appears, so no gradient stays.
    "*optimizer_in_bwd", "*optimizer_in_backward", "*early_step_in_backward", "*gradient_release", "*lomo*",
    // Optimizers with a state of low rank, or for a part of the weights at a time.
    "*use_galore", "*galore_*", "*use_badam", "*badam_*", "*use_apollo", "*apollo_*", "*lisa_*",
    // Operators that keep fewer activations.
    "*use_unsloth", "*unsloth_*", "*liger_*", "*use_liger*", "*tiled_mlp*", "*use_fused_kernels",
    // Moving to the host, splitting and quantizing what is kept.
    "*partition_activations", "*cpu_offload*", "*offload_*", "*activation_offload*", "*gptq", "*quant_method",
    "*reuse_fp32_param", "*swap_attention", "*swap_optimizer"};

/// Arguments of all tools by which parts of the model are not trained.
constexpr std::array<std::string_view, 1> freezers{"*freeze_*"};

/// Arguments of all tools that raise memory: adapters with a norm of each whole matrix [Liu et al., "DoRA", ICML 2024], and
/// modules that are trained whole.
constexpr std::array<std::string_view, 4> raisers{"*use_dora", "*use_dora_*", "*modules_to_save", "*additional_target"};

const ConfigEntry* first_of(std::span<const std::string_view> arguments, const Configuration& configuration) {
  const auto& all = configuration.not_modeled;
  return find_where(all, [&](const ConfigEntry& each) { return is_among(arguments, argument_key(each.key)); });
}

}  // namespace

const ConfigEntry* unmodeled_saver(const Configuration& configuration) {
  const ConfigEntry* const saver = first_of(savers, configuration);
  return saver != nullptr ? saver : first_of(freezers, configuration);
}

const ConfigEntry* unmodeled_raiser(const Configuration& configuration, const Model& model) {
  const ConfigEntry* const module = unknown_trained_module(configuration, model);
  return module != nullptr ? module : first_of(raisers, configuration);
}

}  // namespace ddl
