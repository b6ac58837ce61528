#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace automodel_tables {

// Sources of names and defaults: NVIDIA-NeMo/Automodel, nemo_automodel/components/distributed/config.py and mesh.py,
// components/training/step_scheduler.py, and _transformers/auto_model.py.
constexpr auto recomputed = argument_words("true=full", "full=full", "selective=selective", "false=none");
constexpr auto strategies = argument_words("fsdp2=3", "megatron_fsdp=3", "ddp=0");
// Optimizer states have the type of the weights.
constexpr auto types = argument_words("bf16=yes", "bfloat16=yes", "torch.bfloat16=yes", "auto=yes", "float32=no", "fp32=no",
                                      "torch.float32=no");
constexpr auto optimizers = argument_words("torch.optim.Adam=adam", "torch.optim.AdamW=adamw", "torch.optim.SGD=momentum",
                                           "transformer_engine.pytorch.optimizers.fused_adam.FusedAdam=adam",
                                           "transformer_engine.pytorch.optimizers.FusedAdam=adam", "*.Muon=muon");
constexpr auto losses = argument_words("nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy=linear",
                                       "nemo_automodel.components.loss.te_parallel_ce.*=fused", "*=");
constexpr auto upcasts = argument_words("true=", "false=fused");
constexpr auto schedules =
    argument_words("1f1b=1f1b", "gpipe=gpipe", "interleaved1f1b=1f1b", "interleavedzerobubble>zb-h1", "zbvzerobubble=zb-v");
// 4-bit weights: NF4, with double quantization if the file asks for it.
constexpr auto four_bits = argument_words("true=nf4", "false=");
constexpr auto packed = argument_words("0=", "*=*");
constexpr auto attentions = argument_words("sdpa=fused", "flash_attention_2=flash2", "flash_attention_3=flash3", "te=fused",
                                           "flex=fused", "eager=unfused");

// The gate without a router gives a token consecutive experts [components/moe/layers.py, FakeBalancedGate].
constexpr auto gates = argument_words("true=consecutive", "false=");
constexpr auto kernels = argument_words("te=fused", "sdpa=fused", "flex=fused", "eager=unfused", "*=fused");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"model.pretrained_model_name_or_path|model.config.pretrained_model_name_or_path", ConfigField::model},
    weak({"model.config", ConfigField::model}),
    {"model.torch_dtype", ConfigField::pure, "", types},
    {"model.attn_implementation", ConfigField::attention, "", attentions},
    weak({"model.backend.attn", ConfigField::attention, "", kernels}),
    only_read({"model.backend.fake_balanced_gate", ConfigField::routing, "", gates}),
    weak({"peft.dim", ConfigField::adapter, "lora"}),
    {"peft.dim", ConfigField::adapter_rank},
    only_read({"peft.dropout", ConfigField::adapter_dropout}),
    weak({"quantization.load_in_4bit", ConfigField::base, "", four_bits}),
    {"quantization.bnb_4bit_use_double_quant", ConfigField::base, "", common::four_bits},
    {"quantization.load_in_8bit", ConfigField::base, "", common::eight_bits},
    {"step_scheduler.global_batch_size", ConfigField::global_batch},
    {"step_scheduler.local_batch_size", ConfigField::micro_batch},
    weak({"dataset.seq_len|dataset.seq_length", ConfigField::sequence}),
    {"packed_sequence.packed_sequence_size", ConfigField::sequence, "", packed},
    {"distributed.strategy", PlanChoice::zero, "", strategies},
    {"distributed.tp_size", ConfigField::tensor},
    {"distributed.cp_size", ConfigField::context},
    {"distributed.pp_size", ConfigField::pipeline},
    {"distributed.ep_size", ConfigField::expert},
    {"distributed.dp_replicate_size", ConfigField::data_replicate},
    {"distributed.sequence_parallel", PlanChoice::sequence_parallel, "", common::flags},
    {"distributed.activation_checkpointing", PlanChoice::recompute, "", recomputed},
    {"distributed.reshard_after_forward", ConfigField::reshards, "", common::flags},
    {"distributed.enable_compile", ConfigField::compiled, "", common::flags},
    {"distributed.pipeline.pp_schedule", PlanChoice::schedule, "", schedules},
    {"distributed.pipeline.pp_microbatch_size", ConfigField::pipeline_batch},
    {"distributed.pipeline.layers_per_stage", ConfigField::layers_per_virtual_stage},
    weak({"compile.enabled", ConfigField::compiled, "", common::flags}),
    {"loss_fn._target_", ConfigField::loss, "", losses},
    // [nemo_automodel/components/loss/masked_ce.py]
    only_read(weak({"loss_fn.fp32_upcast", ConfigField::loss, "", upcasts})),
    {"optimizer._target_", ConfigField::optimizer, "", optimizers},
    {"benchmark.num_nodes", ConfigField::nodes},
});
constexpr auto rows = one_name_each<arguments>();

// The batch of a step is given; the default of each dimension of the mesh is 1.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::pure, "yes"},
                                                  {ConfigField::compiled, "no"},
                                                  {ConfigField::pipeline_batch, "1"},
                                                  {PlanChoice::zero, "3"},
                                                  {ConfigField::optimizer, "adam"}});

constexpr auto not_modeled = argument_names(
    "distributed.enable_async_tensor_parallel", "distributed.moe.reshard_after_forward", "distributed.offload_policy*",
    "fp8.enabled", "te_fp8.recipe", "model.backend.linear", "peft.match_all_linear", "peft.target_modules");

constexpr auto marks = argument_names("step_scheduler.local_batch_size", "step_scheduler.global_batch_size");
constexpr auto programs = argument_names("automodel", "nemo_automodel*");

constexpr auto harmless = argument_names(
    "recipe", "seed", "benchmark.*", "step_scheduler.*", "dist_env.*", "rng.*", "model._target_", "model.config._target_",
    "model.trust_remote_code", "model.config.trust_remote_code", "model.use_liger_kernel", "model.force_hf",
    "model.output_hidden_states", "model.backend.*", "model.use_sdpa_patching", "checkpoint.*", "ci.*", "loss_fn*",
    "dataset*", "validation_*", "packed_sequence.*", "dataloader*", "optimizer.*", "lr_scheduler.*", "wandb.*", "mlflow.*",
    "comet*", "peft.*", "quantization.*", "distributed.*", "compile.*", "clip_grad_norm*", "fp8.*", "te_fp8.*", "tokenizer*",
    "slurm.*", "profiling*", "nsys*", "logger*");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"recipe", "a second model runs without gradients", other_model, true, "KnowledgeDistillation*"},
    {"teacher_model*", "a second model runs without gradients", other_model, true},
    {"model._target_", "a vision or audio model is trained as well", other_model, true,
     "*ImageTextToText* *MultimodalLM* *AudioTextToText*"},
    {"model._target_", "an encoder of texts is trained", other_model, true, "*BiEncoder* *CrossEncoder*"},
    {"model.config.num_hidden_layers", "the size of the model is changed", other_model, true},
    {"model.num_hidden_layers", "the size of the model is changed", other_model, true},
});

}  // namespace automodel_tables

const ConfigurationFormat automodel_yaml{.name = "NeMo AutoModel",
                                         .software = "automodel",
                                         .language = ConfigurationLanguage::yaml,
                                         .rows = automodel_tables::rows,
                                         .usual = automodel_tables::usual,
                                         .not_modeled = automodel_tables::not_modeled,
                                         .marks = automodel_tables::marks,
                                         .programs = automodel_tables::programs,
                                         .harmless = automodel_tables::harmless,
                                         .refused = automodel_tables::refused,
                                         .loads_half = true};

}  // namespace ddl
