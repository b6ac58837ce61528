#include <array>
#include <cctype>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace torchtune_tables {

// Sources of names and defaults: meta-pytorch/torchtune, recipes/configs, recipes/full_finetune_distributed.py and
// recipes/lora_finetune_distributed.py.
// With `dtype: bf16`, weights, gradients and optimizer states are in bf16.
constexpr auto types = argument_words("bf16=bf16", "fp16=fp16", "fp32=fp32");
constexpr auto pure = argument_words("bf16=yes", "fp16=yes", "fp32=no");
constexpr auto optimizers =
    argument_words("torch.optim.AdamW=adamw", "torch.optim.Adam=adam", "torch.optim.SGD=momentum",
                   "bitsandbytes.optim.AdamW8bit=adam8bit", "bitsandbytes.optim.PagedAdamW=paged-adamw",
                   "bitsandbytes.optim.PagedAdamW8bit=paged-adam8bit", "torchao.optim.AdamW8bit=adam8bit");
// The logits are computed in chunks [torchtune/modules/loss/cross_entropy_loss.py].
constexpr auto losses = argument_words("torchtune.modules.loss.LinearCrossEntropyLoss=linear",
                                       "torchtune.modules.loss.*=", "torch.nn.CrossEntropyLoss=");
constexpr auto perceptrons = argument_words("true=mlp", "false=");
// Names of builders show whether frozen weights are quantized. The scales are quantized, too
// [torchtune/modules/low_precision].
constexpr auto quantized = argument_words("*.qlora_*=nf4-double", "*=");

// The names of recipes for one GPU [recipes/lora_finetune_single_device.py].
constexpr auto recipes = argument_words("*single_device*=1", "*=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model._component_", ConfigField::model},
    {"model._component_", ConfigField::base, "", quantized},
    only_read(weak({"model.quantize_base", ConfigField::base, "", common::four_bits})),
    weak({"model.lora_rank", ConfigField::adapter, "lora"}),
    {"model.lora_rank", ConfigField::adapter_rank},
    only_read({"model.lora_dropout", ConfigField::adapter_dropout}),
    only_read({"model.lora_attn_modules", ConfigField::adapter_layers}),
    only_read({"model.apply_lora_to_mlp", ConfigField::adapter_layers, "", perceptrons}),
    {"tokenizer.max_seq_len", ConfigField::sequence},
    only_read(weak({"dataset.max_seq_len", ConfigField::sequence})),  // up to torchtune 0.2
    {"batch_size", ConfigField::micro_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"dtype", ConfigField::precision, "", types},
    {"dtype", ConfigField::pure, "", pure},
    {"optimizer._component_", ConfigField::optimizer, "", optimizers},
    only_read({"optimizer_in_bwd", ConfigField::updates_in_backward, "", common::flags}),
    only_read({"model.use_dora", ConfigField::adapter_kind, "", common::weighted_adapters}),
    {"loss._component_", ConfigField::loss, "", losses},
    {"compile", ConfigField::compiled, "", common::flags},
    {"enable_activation_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"enable_activation_offloading", PlanChoice::offload_activations, "", common::flags},
    {"fsdp_cpu_offload", PlanChoice::offload, "", common::offloads},
    {"fsdp_reshard_after_forward", ConfigField::reshards, "", common::flags},
    only_read({"tool:-recipe", ConfigField::gpus, "", recipes}),
    {"tensor_parallel_dim", ConfigField::tensor},
    {"context_parallel_dim", ConfigField::context},
    {"expert_parallel_dim", ConfigField::expert},
    {"data_parallel_shard_dim", ConfigField::data_shard},
    {"data_parallel_replicate_dim", ConfigField::data_replicate},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::pure, "yes"},
                                                  {ConfigField::micro_batch, "2"},
                                                  {ConfigField::compiled, "no"},
                                                  {PlanChoice::zero, "3"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modeled = argument_names("dataset.packed", "custom_sharded_layers", "model.apply_lora_to_output",
                                            "enable_fp8_training", "use_flex_attention", "fp8_recipe_name");

constexpr auto marks = argument_names("model._component_", "checkpointer._component_");
constexpr auto programs = argument_names("tune", "torchtune*");

// Arguments of builders come from torchtune/models. Arguments for sizes occur only with builders that name no model.
constexpr auto harmless = argument_names(
    "output_dir", "tokenizer*", "checkpointer*", "resume_from_checkpoint", "save_*", "dataset*", "seed", "shuffle",
    "run_val*", "batch_size_val", "optimizer.*", "lr_scheduler*", "loss.*", "epochs", "max_steps_per_epoch",
    "clip_grad_norm", "metric_logger*", "log_*", "device", "profiler*", "model.lora_attn_modules", "model.apply_lora_to_mlp",
    "model.lora_alpha", "model.max_seq_len", "model.attn_dropout", "model.norm_eps", "model.rope_base", "model.scale_factor",
    "model.image_size", "model.vocab_size", "model.num_layers", "model.num_heads", "model.num_kv_heads", "model.embed_dim",
    "model.intermediate_dim", "tensor_parallel_plan*", "collate_fn", "cudnn_deterministic_mode", "low_cpu_ram", "name",
    "keep_last_n_checkpoints", "reshard_*", "base_model_path", "packed");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto no_training = "nothing is trained";
constexpr auto name_training = "pass the configuration of a training instead";
constexpr auto second = "a second model runs without gradients";
constexpr auto own_step = "use options for the training step alone: --model, --gpus, --global-batch";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"tasks", no_training, name_training},
    {"prompt*", no_training, name_training},
    {"max_new_tokens", no_training, name_training},
    {"teacher_model._component_", second, other_model, true},
    {"ref_policy_model*", second, own_step},
    {"ref_checkpointer._component_", second, other_model, true},
    {"value_checkpointer*", "a second model is trained as well", own_step},
    {"reward_checkpointer*", second, own_step},
    // The asynchronous recipe has a section for each of its workers [recipes/dev/async_grpo_full_finetune_distributed.py].
    {"orchestration.*", "samples are generated and scored in addition to training", own_step},
    {"postprocessing.*", "samples are generated and scored in addition to training", own_step},
    {"reward_functions*", "samples are generated and scored in addition to training", own_step},
    {"loss._component_", "samples are compared, and a second model scores them", other_model, true, "torchtune.rlhf.*"},
    {"loss._component_", "samples are generated and scored in addition to training", own_step, false, "torchtune.dev.*"},
    {"quantizer._component_", "the training simulates quantization", other_model, true},
});

/// Returns the common name of a model that a builder makes: `llama3.1-8b` of `torchtune.models.llama3_1.lora_llama3_1_8b`.
/// In names of builders, underscores stand for dots between digits, and for dashes elsewhere.
std::string torchtune_model(std::string_view name, std::string_view /*flavor*/) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto spelled = [&](std::string_view part) {
    std::string text(part);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '_') continue;
      const bool is_dot = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
      text[i] = is_dot ? '.' : '-';
    }
    return text;
  };
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::string_view builder = name.substr(dot + 1), folder = name.substr(0, dot);
  folder = folder.substr(folder.rfind('.') + 1);
  for (const std::string_view prefix : {"qlora_", "lora_"}) {
    if (builder.starts_with(prefix)) builder.remove_prefix(prefix.size());
  }
  if (!builder.starts_with(folder) || folder.empty()) return spelled(builder);
  builder.remove_prefix(folder.size());
  return spelled(folder) + (builder.empty() ? "" : "-" + spelled(builder.substr(1)));
}

}  // namespace torchtune_tables

const ConfigurationFormat torchtune_yaml{.name = "torchtune",
                                         .software = "fsdp",
                                         .language = ConfigurationLanguage::yaml,
                                         .rows = torchtune_tables::rows,
                                         .usual = torchtune_tables::usual,
                                         .not_modeled = torchtune_tables::not_modeled,
                                         .marks = torchtune_tables::marks,
                                         .programs = torchtune_tables::programs,
                                         .harmless = torchtune_tables::harmless,
                                         .refused = torchtune_tables::refused,
                                         .loads_half = true,
                                         .model_named = torchtune_tables::torchtune_model};

}  // namespace ddl
