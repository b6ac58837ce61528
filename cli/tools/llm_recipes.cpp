#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace llm_recipes_tables {

// Sources of names and defaults: okoge-kaz/llm-recipes, src/llama_recipes/arguments.py, finetuning.py (weights in bf16) and
// get_fsdp.py. Further arguments are those of Megatron-LM.
constexpr auto shards =
    argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "HYBRID_SHARD=3", "_HYBRID_SHARD_ZERO2=2", "NO_SHARD=0");
constexpr auto hybrids = argument_words("HYBRID_SHARD=yes", "_HYBRID_SHARD_ZERO2=yes", "*=no");
constexpr auto optimizers = argument_words("adam=adamw");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"--base-model", ConfigField::model},
    {"--seq-length", ConfigField::sequence},
    {"--micro-batch-size", ConfigField::micro_batch},
    {"--global-batch-size", ConfigField::global_batch},
    {"--bf16", ConfigField::precision, "bf16"},
    {"--bf16", ConfigField::pure, "yes"},
    {"--fp16", ConfigField::precision, "fp16"},
    {"--optimizer", ConfigField::optimizer, "", optimizers},
    {"--sharding-strategy", PlanChoice::zero, "", shards},
    {"--sharding-strategy", ConfigField::shards_nodes, "", hybrids},
    {"--fsdp-activation-checkpointing", PlanChoice::recompute, "full"},
    {"--fsdp-cpu-offload", PlanChoice::offload, "weights"},
});

constexpr auto usual = std::to_array<UsualValue>(
    {{ConfigField::precision, "fp32"}, {ConfigField::optimizer, "adamw"}, {PlanChoice::zero, "3"}});

constexpr auto not_modeled = argument_names("--quantization");

constexpr auto marks = argument_names("--sharding-strategy+--base-model", "--low-cpu-fsdp");

constexpr auto harmless = argument_names(
    "--sliding-window-size", "--train-*", "--tokenizer-*", "--data-*", "--split", "--lr*", "--min-lr", "--weight-decay",
    "--grad-clip-norm", "--adam-*", "--save*", "--load", "--eval-*", "--mixed-precision", "--low-cpu-fsdp",
    "--no-meta-device", "--checkpoint-type", "--use-dist-ckpt", "--use-mpi", "--wandb-*", "--seed", "--num-workers",
    "--distributed-timeout-minutes", "--vocab-*", "--instruction-*", "--continual-pretraining", "--epoch",
    "--no-save-optimizer-state", "--torch-profile*", "--tensorboard-dir", "--valid-data-path", "--test-data-path");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"--direct-preference-optimization", "a second model runs without gradients",
     "name the trained model with --model; the other arguments of the file are used", true},
    {"--use-freeze-layers", "only a part of the model is trained",
     "name the parts with the model: --model NAME@trained=head"},
});

}  // namespace llm_recipes_tables

const ConfigurationFormat llm_recipes_arguments{.name = "llm-recipes",
                                                .software = "fsdp",
                                                .language = ConfigurationLanguage::yaml,
                                                .rows = llm_recipes_tables::rows,
                                                .usual = llm_recipes_tables::usual,
                                                .not_modeled = llm_recipes_tables::not_modeled,
                                                .marks = llm_recipes_tables::marks,
                                                .harmless = llm_recipes_tables::harmless,
                                                .refused = llm_recipes_tables::refused};

}  // namespace ddl
