#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace axolotl_tables {

// Sources of names and defaults: axolotl-ai-cloud/axolotl, src/axolotl/utils/schemas/config.py,
// training.py, peft.py and fsdp.py.
// On devices with bf16, auto is bf16 [src/axolotl/utils/config/__init__.py, normalize_config].
constexpr auto brains = argument_words("true=bf16", "auto>bf16", "full>bf16", "false=");
constexpr auto recomputed = argument_words("true=full", "false=none", "unsloth>full", "offload>full", "offload_disk>full");
constexpr auto fused_losses = argument_words("true=fused", "false=");
// The plugin's switch is on by default [src/axolotl/integrations/cut_cross_entropy/args.py].
constexpr auto plugins = argument_words("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin=linear");
constexpr auto fused = argument_words("true=fused", "false=");
constexpr auto flash = argument_words("true=flash2", "false=");
constexpr auto eager = argument_words("true=unfused", "false=");
constexpr auto attentions = argument_words("eager=unfused", "sdpa=fused", "flash_attention_2=flash2",
                                           "flash_attention_3=flash3", "flex_attention=fused", "xformers=fused",
                                           "sage=fused", "*flash-attn3*=flash3", "*flash-attn*=flash2", "*flash*=fused");
constexpr auto adapters = argument_words("lora=lora", "qlora=lora", "=none");
// Double quantization is on by default [src/axolotl/loaders/model.py, bnb_4bit_use_double_quant].
constexpr auto four_bits = argument_words("true=nf4-double", "false=");
constexpr auto shards = argument_words("full_shard=3", "shard_grad_op=2", "hybrid_shard=3", "no_shard=0");
constexpr auto older_shards = argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "HYBRID_SHARD=3", "NO_SHARD=0");
constexpr auto plain_optimizers = argument_words(
    "adamw_torch=adamw", "adamw_torch_fused=adamw", "adamw_hf=adamw", "adamw_bnb_8bit=adam8bit", "adamw_8bit=adam8bit",
    "paged_adamw_8bit=paged-adam8bit", "paged_adamw_32bit=paged-adamw", "adamw_torch_8bit>adam8bit",
    "adamw_torch_4bit>adam8bit", "ao_adamw_8bit>adam8bit", "ao_adamw_4bit>adam8bit", "ao_adamw_fp8>adam8bit",
    "adafactor=adafactor", "sgd=momentum", "adamw_apex_fused=adamw");
constexpr auto optimizers = joined(plain_optimizers, common::projected_optimizers);

// Modules are added to the linear ones [axolotl-ai-cloud/axolotl, src/axolotl/loaders/adapter.py, load_lora].
constexpr auto linears = argument_words("true=all-linear", "false=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"base_model", ConfigField::model},
    {"sequence_len", ConfigField::sequence},
    {"micro_batch_size", ConfigField::micro_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"adapter", ConfigField::adapter, "", adapters},
    {"load_in_4bit", ConfigField::base, "", four_bits},
    {"load_in_8bit", ConfigField::base, "", common::eight_bits},
    {"lora_r", ConfigField::adapter_rank},
    only_read({"lora_dropout", ConfigField::adapter_dropout}),
    only_read({"lora_target_modules", ConfigField::adapter_layers}),
    only_read({"lora_target_linear", ConfigField::adapter_layers, "", linears}),
    {"optimizer", ConfigField::optimizer, "", optimizers},
    only_read({"optimizer", ConfigField::updates_in_backward, "", common::updated_in_backward}),
    only_read({"optim_args", ConfigField::optimizer_arguments}),
    only_read({"optim_args.rank", ConfigField::projection_rank}),
    only_read({"optim_args.update_proj_gap", ConfigField::projection_every}),
    only_read({"optim_target_modules", ConfigField::projected_modules}),
    only_read({"peft_use_dora", ConfigField::adapter_kind, "", common::weighted_adapters}),
    only_read(weak({"tiled_mlp", ConfigField::mlp_tiles, "", common::automatic_tiles})),
    only_read({"tiled_mlp_num_shards", ConfigField::mlp_tiles}),
    {"bf16|bfloat16", ConfigField::precision, "", brains},
    {"fp16|float16", ConfigField::precision, "", common::halves},
    {"gradient_checkpointing|fsdp_config.activation_checkpointing|fsdp_config.fsdp_activation_checkpointing",
     PlanChoice::recompute, "", recomputed},
    {"activation_offloading", PlanChoice::offload_activations, "", common::flags},
    {"flash_attention", ConfigField::attention, "", flash},
    {"sdp_attention|xformers_attention|flex_attention", ConfigField::attention, "", fused},
    {"eager_attention", ConfigField::attention, "", eager},
    {"attn_implementation", ConfigField::attention, "", attentions},
    only_read({"lora_modules_to_save", ConfigField::trained_modules}),
    {"torch_compile", ConfigField::compiled, "", common::flags},
    only_read({"liger_fused_linear_cross_entropy|cut_cross_entropy", ConfigField::loss, "", common::fused_heads}),
    only_read(weak({"liger_cross_entropy|unsloth_cross_entropy_loss", ConfigField::loss, "", fused_losses})),
    listed(weak({"plugins", ConfigField::loss, "", plugins})),
    {"deepspeed", ConfigField::deepspeed_file},
    listed({"fsdp", PlanChoice::zero, "", shards}),
    // Newer configurations give the version of FSDP. Keys in `fsdp_config` may begin with `fsdp_`.
    weak({"fsdp_version", PlanChoice::zero, "3"}),
    {"fsdp_config.fsdp_sharding_strategy|fsdp_config.sharding_strategy", PlanChoice::zero, "", older_shards},
    {"fsdp_config.fsdp_sharding_strategy|fsdp_config.sharding_strategy", ConfigField::shards_nodes, "", common::hybrids},
    weak(
        {"fsdp_config.fsdp_transformer_layer_cls_to_wrap|fsdp_config.transformer_layer_cls_to_wrap", PlanChoice::zero, "3"}),
    {"fsdp_config.fsdp_offload_params|fsdp_config.offload_params", PlanChoice::offload, "", common::offloads},
    {"fsdp_config.reshard_after_forward|fsdp_config.fsdp_reshard_after_forward", ConfigField::reshards, "", common::flags},
    {"tensor_parallel_size", ConfigField::tensor},
    {"context_parallel_size|sequence_parallel_degree", ConfigField::context},
    {"dp_shard_size", ConfigField::data_shard},
    {"dp_replicate_size", ConfigField::data_replicate},
    {"expert_parallel_size", ConfigField::expert},
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::sequence, "512"},
                                                  {ConfigField::precision, "bf16"},
                                                  // [src/axolotl/utils/config/__init__.py, normalize_config]
                                                  {ConfigField::loaded, "half"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modeled =
    argument_names("sample_packing", "unfrozen_parameters", "gptq", "relora", "relora_steps", "use_ray", "fp8");

// Files of other tools, such as reports of experiments, give a `base_model`, too.
// A training needs two of its arguments of batches [src/axolotl/utils/schemas/validation.py, check_batch_size_fields], which
// reports about models lack.
constexpr auto marks = argument_names(
    "sequence_len+micro_batch_size", "sequence_len+gradient_accumulation_steps", "adapter+micro_batch_size",
    "adapter+gradient_accumulation_steps", "lora_target_modules+micro_batch_size", "lora_target_modules+base_model",
    "val_set_size+micro_batch_size", "val_set_size+gradient_accumulation_steps", "sample_packing", "pad_to_sequence_len",
    "lora_target_linear", "dataset_prepared_path");
constexpr auto programs = argument_names("axolotl", "axolotl.cli.train");

constexpr auto harmless = argument_names(
    "base_model_config", "base_model_ignore_patterns", "model_type", "tokenizer_*", "model_config_type", "trust_remote_code",
    "hub_*", "hf_*", "strict", "datasets*", "test_datasets*", "pretraining_dataset*", "dataset_*", "shuffle_*",
    "val_set_size", "output_dir", "pad_to_sequence_len", "pad_to_*", "eval_*", "wandb_*", "mlflow_*", "comet_*",
    "lora_alpha", "lora_fan_in_fan_out", "lora_model_dir", "lora_out_dir", "lora_*_kernel", "num_epochs", "max_steps",
    "learning_rate", "lr_scheduler*", "cosine_*", "train_on_inputs", "group_by_length", "tf32",
    "gradient_checkpointing_kwargs*", "early_stopping_patience", "resume_*", "auto_resume_*", "local_rank", "logging_steps",
    "warmup_*", "evals_per_epoch", "saves_per_epoch", "save_*", "debug", "weight_decay", "special_tokens*", "tokens*",
    "chat_template*", "adam_*", "max_grad_norm", "seed", "flash_attn_*", "flash_optimum", "fsdp_config.*", "plugins*",
    "is_*_derived_model", "flash_attention_version", "ddp_*", "dataloader_*", "load_best_*", "metric_*", "use_tensorboard",
    "remove_unused_columns", "skip_prepare_dataset", "experimental_*", "lora_mlp_kernel", "low_cpu_mem_usage",
    "model_config*", "overrides_of_model_config*", "added_tokens_overrides*", "excess_length_strategy", "streaming*",
    "batch_flattening", "push_dataset_to_hub", "output_router_logits", "torch_dtype", "include_tokens_per_second",
    "use_eaft", "eaft_*", "scaling_softmax", "bench_dataset", "loss_watchdog_*", "noisy_embedding_alpha", "neftune_*",
    "profiler_steps*", "gc_steps", "lora_on_cpu");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"tool:-command", "nothing is trained", "pass the command that trains: axolotl train", false,
     "preprocess inference merge-lora merge-sharded-fsdp-weights evaluate lm-eval quantize vllm-serve fetch "
     "delinearize-llama4"},
    {"rl", "a second model runs, or samples are generated, in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch"},
    {"reward_model", "a reward model is trained", other_model, true},
    {"hatchery.*", "a service on other machines trains the model",
     "set model and plan by options: recommend MODEL --gpus N"},
    {"process_reward_model", "a reward model is trained", other_model, true},
    {"processor_type", "a vision or audio model is trained as well", other_model, true},
    {"adapter", "only low-rank adapters are read", other_model, false, "llama-adapter ia3 oft"},
    {"relora", "parts of the model are trained in turn", other_model, false, "true"},
    {"kd_trainer", "a second model runs without gradients", other_model, true},
    {"unfrozen_parameters", "only a part of the model is trained", other_model, true},
});

}  // namespace axolotl_tables

const ConfigurationFormat axolotl_yaml{.name = "axolotl",
                                       .software = "pytorch",
                                       .language = ConfigurationLanguage::yaml,
                                       .rows = axolotl_tables::rows,
                                       .usual = axolotl_tables::usual,
                                       .not_modeled = axolotl_tables::not_modeled,
                                       .marks = axolotl_tables::marks,
                                       .programs = axolotl_tables::programs,
                                       .harmless = axolotl_tables::harmless,
                                       .refused = axolotl_tables::refused,
                                       .loads_half = true};

}  // namespace ddl
