#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace gpt_neox_tables {

// Sources of names and defaults: EleutherAI/gpt-neox, configs/neox_arguments.md, megatron/neox_arguments/neox_args.py.
constexpr auto norms = argument_words("layernorm=layer", "rmsnorm=rms", "non_parametric_layernorm>layer");
constexpr auto positions = argument_words("rotary=rope", "learned=learned", "none=none", "sinusoidal>learned");
constexpr auto activations = argument_words("gelu=gelu", "swiglu=swiglu", "geglu=geglu", "silu>swiglu", "relu>gelu",
                                            "softsign>gelu", "swish>gelu", "mish>gelu", "reglu>geglu", "bilinear>geglu");
constexpr auto untied = argument_words("true=no", "false=yes");
constexpr auto precisions = argument_words("fp16=fp16", "bfloat16=bf16", "fp32=fp32");
constexpr auto attentions = argument_words("flash=flash2", "global=unfused", "local=unfused");
constexpr auto devices = argument_words("cpu=optimizer", "none=none");
constexpr auto optimizers =
    argument_words("Adam=adam", "Adam=adamw", "AdamW>adamw", "OneBitAdam>adam", "SGD=momentum", "Lamb=lamb");
constexpr auto llama_mlp = argument_words("llama=yes", "regular=no");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"num_layers", ConfigField::layers},
    {"hidden_size", ConfigField::hidden},
    {"num_attention_heads", ConfigField::heads},
    {"num_kv_heads", ConfigField::kv_heads},
    {"intermediate_size", ConfigField::feed_forward},
    {"mlp_multiple_of", ConfigField::feed_forward_multiple},
    {"seq_length", ConfigField::sequence},
    {"max_position_embeddings", ConfigField::positions},
    {"norm", ConfigField::norm, "", norms},
    {"pos_emb", ConfigField::position, "", positions},
    {"rotary_pct", ConfigField::rotary_percent},
    {"activation", ConfigField::activation, "", activations},
    {"mlp_type", ConfigField::gated, "", llama_mlp},
    {"no_weight_tying", ConfigField::tied, "", untied},
    {"use_bias_in_attn_linear", ConfigField::bias, "", common::flags},
    {"use_qk_layernorm", ConfigField::query_key_norm, "", common::flags},
    {"gpt_j_residual", ConfigField::parallel, "", common::flags},
    {"hidden_dropout", ConfigField::hidden_dropout},
    {"attention_dropout", ConfigField::attention_dropout},
    listed({"attention_config", ConfigField::attention, "", attentions}),
    {"make_vocab_size_divisible_by", ConfigField::vocabulary_multiple},
    {"tokenizer_type", ConfigField::tokenizer_kind},
    {"moe_num_experts", ConfigField::experts},
    {"moe_top_k", ConfigField::active_experts},
    {"pipe_parallel_size", ConfigField::pipeline},
    {"model_parallel_size", ConfigField::tensor},
    {"context_parallel_size", ConfigField::context},
    {"sequence_parallel", PlanChoice::sequence_parallel, "", common::flags},
    {"train_batch_size", ConfigField::global_batch},
    {"train_micro_batch_size_per_gpu|batch_size", ConfigField::micro_batch},
    {"gradient_accumulation_steps|gas", ConfigField::accumulation},
    {"global_num_gpus", ConfigField::gpus},
    {"num_gpus", ConfigField::gpus_per_node},
    {"num_nodes", ConfigField::nodes},
    {"checkpoint_activations", PlanChoice::recompute, "", common::recomputed},
    {"fp16.enabled", ConfigField::precision, "", common::halves},
    {"bf16.enabled", ConfigField::precision, "", common::brains},
    {"precision", ConfigField::precision, "", precisions},
    {"optimizer.type", ConfigField::optimizer, "", optimizers},
    {"zero_optimization.stage", PlanChoice::zero},
    {"zero_optimization.overlap_comm", ConfigField::overlap, "", common::flags},
    {"zero_optimization.offload_optimizer.device", PlanChoice::offload, "", devices},
    {"zero_optimization.offload_param.device", ConfigField::offload_weights, "", common::on_host},
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "fp32"},
                                                  {ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::attention, "unfused"},
                                                  {ConfigField::hidden_dropout, "0"},
                                                  {ConfigField::attention_dropout, "0"},
                                                  {ConfigField::vocabulary_multiple, "128"},
                                                  {ConfigField::accumulation, "1"},
                                                  {PlanChoice::zero, "0"}});

constexpr auto not_modeled =
    argument_names("partition_activations", "checkpoint_num_layers", "sparsity_config", "zero_optimization.cpu_offload");

constexpr auto marks =
    argument_names("pipe_parallel_size", "pos_emb", "no_weight_tying", "gpt_j_residual", "attention_config");
constexpr auto programs = argument_names("deepy.py");

constexpr auto harmless = argument_names(
    "vocab_file", "merge_file", "save*", "load*", "data_path", "train_data_*", "valid_data_*", "test_data_*", "train_iters",
    "train_epochs", "lr_*", "warmup", "min_lr", "weight_decay*", "clip_grad", "gradient_clipping", "distributed_backend",
    "eval_*", "log_*", "keep_last_n_checkpoints", "steps_per_print", "wall_clock_breakdown", "tensorboard*", "use_wandb",
    "wandb*", "init_method*", "output_layer_*", "scaled_*_fusion", "bias_*_fusion", "rope_fusion", "layernorm_fusion",
    "rmsnorm_fusion", "masked_softmax_fusion", "gpt_j_tied", "optimizer.params*", "optimizer_type", "zero_optimization.*",
    "fp16.*", "bf16.*", "data_impl", "split", "synchronize_each_layer", "fp32_allreduce", "fp32_reduce_scatter",
    "data_types*", "scheduler*", "finetune", "checkpoint_*", "extra_save_iters", "num_workers", "hostfile", "launcher",
    "deepspeed_*", "include", "exclude", "rotary_emb_base", "rotary_save_freqs_buffer", "attention_softmax_in_fp32",
    "exit_interval", "attention_precision", "make_*", "use_bias_in_norms", "layernorm_epsilon", "rms_norm_epsilon",
    "no_load_*", "no_save_*", "override_lr_scheduler", "use_cpu_*", "zero_allow_untested_optimizer", "comment", "git_hash",
    "iteration", "text_gen_type", "temperature", "top_*", "maximum_tokens", "num_samples", "sample_*", "recompute",
    "pipe_partition_method", "dataset_impl", "reduce_bucket_size", "tokenizer*", "print_*", "s3_*", "seed", "mup_*",
    "comms_*", "profile*", "memory_profiling*", "nsys*", "use_fused_layernorm", "use_bnb_optimizer", "moe_loss_coeff",
    "moe_*_freq", "moe_type", "moe_router_type", "moe_expert_interval", "moe_glu", "use_bias_in_mlp", "pack_impl",
    "allow_chopped", "amp*", "short_seq_prob", "opt_pos_emb_offset", "gmlp_attn_dim", "csv_monitor*", "flops_profiler*",
    "base_shapes_file", "coord_check", "use_checkpoint_*", "log_gradient_noise_scale", "prescale_gradients",
    "communication_data_type");

constexpr auto other_model = "name the nearest model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"pos_emb", "no supported family of models has such positions", other_model, true, "alibi rpe xpos"},
    {"expansion_factor", "the width of MLPs follows from other numbers", other_model, true},
    {"attention_config", "not all layers are transformer blocks", other_model, true, "rwkv mamba gmlp amlp"},
    {"num_experts", "the experts have a separate parallel plan", other_model, true},
    {"expert_parallel_size", "the experts have a separate parallel plan", other_model},
    {"train_impl", "a second model runs, or samples are generated, in addition to training", other_model, false,
     "dpo kto reinforce rm"},
    {"zero_optimization.offload_optimizer.device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"zero_optimization.offload_param.device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"adapter", "only a part of the model is trained", other_model, true},
    {"soft_prompt_tuning.enabled", "only a part of the model is trained", other_model, true},
});

}  // namespace gpt_neox_tables

const ConfigurationFormat gpt_neox_yaml{"GPT-NeoX",
                                        "deepspeed",
                                        ConfigurationLanguage::yaml,
                                        gpt_neox_tables::rows,
                                        gpt_neox_tables::usual,
                                        gpt_neox_tables::not_modeled,
                                        {},
                                        gpt_neox_tables::marks,
                                        gpt_neox_tables::programs,
                                        gpt_neox_tables::harmless,
                                        gpt_neox_tables::refused,
                                        ConfigurationLanguage::json};

}  // namespace ddl
