#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace prime_rl_tables {

// Sources of names and defaults: PrimeIntellect-ai/prime-rl, packages/prime-rl-configs, configs/sft.py and
// configs/trainer.py.
constexpr auto recomputed = argument_words("full=full", "*=");
constexpr auto shares = argument_words("1=1", "2=0.5", "3=0.3333", "4=0.25", "5=0.2", "6=0.1667", "8=0.125");
constexpr auto pure = argument_words("bfloat16=yes", "float32=no");
constexpr auto exchanges = argument_words("ring=ring", "ulysses=ulysses");
constexpr auto optimizers = argument_words("adamw=adamw", "sgd=momentum", "muon=muon");

constexpr auto none = argument_words("none=none", "null=none");
constexpr auto kept = argument_words("none=no", "null=no");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.name", ConfigField::model},
    weak({"model.lora.rank", ConfigField::adapter, "lora"}),
    {"model.lora.rank", ConfigField::adapter_rank},
    only_read({"model.lora.dropout", ConfigField::adapter_dropout}),
    {"data.seq_len", ConfigField::sequence},
    {"data.batch_size", ConfigField::global_batch},
    {"data.micro_batch_size", ConfigField::micro_batch},
    weak({"deployment.gpus_per_node", ConfigField::gpus_per_node}),
    {"deployment.num_train_gpus", ConfigField::gpus_per_node},
    {"deployment.num_train_nodes", ConfigField::nodes},
    weak({"model.ac.mode", PlanChoice::recompute, "", recomputed}),
    {"model.ac", PlanChoice::recompute, "", none},
    {"model.ac.freq", PlanChoice::recompute, "full"},
    {"model.ac.freq", ConfigField::recompute_share, "", shares},
    {"model.ac_offloading.max_inflight_activations", PlanChoice::offload_activations, "yes"},
    {"model.ac_offloading", PlanChoice::offload_activations, "", kept},
    weak({"model.optim_cpu_offload", PlanChoice::offload, "", common::state_offloads}),
    {"model.fsdp_cpu_offload", PlanChoice::offload, "", common::weight_offloads},
    {"model.reshard_after_forward", ConfigField::reshards, "", common::flags},
    {"model.dp_replicate", ConfigField::data_replicate},
    {"model.ep", ConfigField::expert},
    {"model.cp", ConfigField::context},
    {"model.cp_style", PlanChoice::context_exchange, "", exchanges},
    {"model.optimization_dtype", ConfigField::pure, "", pure},
    {"model.compile", ConfigField::compiled, "", kept},
    {"optim.type", ConfigField::optimizer, "", optimizers},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::pure, "no"},
                                                  {ConfigField::global_batch, "128"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::nodes, "1"},
                                                  {ConfigField::compiled, "yes"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {PlanChoice::zero, "3"},
                                                  {PlanChoice::recompute, "full"},
                                                  {PlanChoice::offload, "optimizer"},
                                                  {PlanChoice::offload_activations, "yes"}});

constexpr auto not_modeled =
    argument_names("model.quantization*", "model.full_offload*", "model.reduce_dtype", "model.ep_comm_backend",
                   "model.lora.target_modules", "model.impl", "model.index_cache*", "model.freeze_moe_router",
                   "model.moe_fused_kernel", "model.fused_lm_head_token_chunk_size", "model.moe_router_dtype");

constexpr auto marks = argument_names("data.seq_len", "data.micro_batch_size");

constexpr auto harmless =
    argument_names("max_steps", "dist_timeout_seconds", "model.*", "data.*", "optim.*", "scheduler.*", "ckpt*", "resume*",
                   "val.*", "eval.*", "renderer.*", "tokenizer.*", "log.*", "monitors.*", "wandb.*", "run.*", "output_dir",
                   "clean", "deployment.*", "slurm.*", "gc*", "heartbeat.*", "env_vars.*", "matmul_precision", "dry_run");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"model.vlm.*", "a vision model is trained or run as well", other_model, true},
    {"model.debug.num_layers", "the size of the model is changed", other_model, true},
    {"model.ac.mode", "only the named parts of each block are recomputed",
     "set model and plan by options: recommend MODEL --gpus N", false, "selective"},
});

}  // namespace prime_rl_tables

const ConfigurationFormat prime_rl_toml{.name = "prime-rl (supervised fine-tuning)",
                                        .software = "fsdp",
                                        .language = ConfigurationLanguage::toml,
                                        .rows = prime_rl_tables::rows,
                                        .usual = prime_rl_tables::usual,
                                        .not_modeled = prime_rl_tables::not_modeled,
                                        .marks = prime_rl_tables::marks,
                                        .harmless = prime_rl_tables::harmless,
                                        .refused = prime_rl_tables::refused};

}  // namespace ddl
