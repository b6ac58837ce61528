#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace openrlhf_tables {

// Sources of names and defaults: OpenRLHF/OpenRLHF, openrlhf/cli/train_sft.py and train_ppo_ray.py; up to version 0.9, names
// have no dots.
constexpr auto precisions = argument_words("bf16=bf16", "fp16=fp16");
constexpr auto attentions = argument_words("flash_attention_2=flash2", "flash_attention_3=flash3", "sdpa=fused",
                                           "eager=unfused", "*flash-attn3*=flash3", "*flash-attn*=flash2", "*flash*=fused");
constexpr auto optimizers = argument_words("adam=adamw", "muon=muon");

constexpr auto frozen_prefixes = argument_words("*vis*=yes", "*=");

constexpr auto shared_arguments = std::to_array<ArgumentRow>({
    {"--train.batch_size|--train_batch_size", ConfigField::global_batch},
    {"--train.micro_batch_size|--micro_train_batch_size", ConfigField::micro_batch},
    {"--data.max_len", ConfigField::sequence},
    {"--ds.zero_stage|--zero_stage", PlanChoice::zero},
    {"--ds.adam_offload|--adam_offload", PlanChoice::offload, "optimizer"},
    {"--ds.zpg|--zpg", PlanChoice::secondary_shards},
    {"--ds.param_dtype|--param_dtype", ConfigField::precision, "", precisions},
    only_read({"--bf16", ConfigField::precision, "bf16"}),
    only_read({"--gradient_checkpointing", PlanChoice::recompute, "full"}),
    {"--ds.attn_implementation|--attn_implementation", ConfigField::attention, "", attentions},
    only_read({"--flash_attn", ConfigField::attention, "flash2"}),
    {"--ds.lora.rank|--lora_rank", ConfigField::adapter_rank},
    only_read({"--ds.lora.dropout|--lora_dropout", ConfigField::adapter_dropout}),
    only_read({"--ds.lora.target_modules|--target_modules", ConfigField::adapter_layers}),
    only_read({"--ds.load_in_4bit|--load_in_4bit", ConfigField::base, "nf4"}),
    {"--ds.ring_attn_size|--ring_attn_size", ConfigField::context},
    {"--ds.tensor_parallel_size|--ds_tensor_parallel_size", ConfigField::tensor},
    only_read({"--ds.use_liger_kernel|--use_liger_kernel", ConfigField::loss, "linear"}),
    // The vision transformer of Qwen2-VL is `visual` [ModalMinds/MM-EUREKA and TideDra/lmm-r1, forks of OpenRLHF].
    only_read({"--freeze_prefix", ConfigField::frozen_vision, "", frozen_prefixes}),
    only_read({"--actor.freeze_visual_encoder", ConfigField::frozen_vision, "yes"}),
});
constexpr auto shared_rows = one_name_each<shared_arguments>();
constexpr auto sft_rows = joined(shared_rows, std::to_array<ArgumentRow>({
                                                  {"--model.model_name_or_path", ConfigField::model},
                                                  only_read({"--pretrain", ConfigField::model}),
                                                  only_read({"--max_len", ConfigField::sequence}),
                                                  {"--model.gradient_checkpointing_enable", PlanChoice::recompute, "full"},
                                                  {"--optim", ConfigField::optimizer, "", optimizers},
                                              }));
// Up to version 0.9, the lengths of prompt and answer are two arguments, and a micro-batch has 4 samples by default.
constexpr auto actor_rows = joined(shared_rows, std::to_array<ArgumentRow>({
                                                    {"--actor.model_name_or_path", ConfigField::model},
                                                    only_read({"--pretrain", ConfigField::model}),
                                                    only_read(weak({"--pretrain", ConfigField::micro_batch, "4"})),
                                                    only_read({"--data.max_len", ConfigField::added_tokens, "0"}),
                                                    only_read({"--prompt_max_len", ConfigField::added_tokens}),
                                                    only_read({"--generate_max_len", ConfigField::sequence}),
                                                    {"--actor.gradient_checkpointing_enable", PlanChoice::recompute, "full"},
                                                    {"--actor.num_nodes", ConfigField::nodes},
                                                    only_read({"--actor_num_nodes", ConfigField::nodes}),
                                                    {"--actor.num_gpus_per_node", ConfigField::gpus_per_node},
                                                    only_read({"--actor_num_gpus_per_node", ConfigField::gpus_per_node}),
                                                    {"--actor.optim", ConfigField::optimizer, "", optimizers},
                                                }));

constexpr auto sft_usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                      {ConfigField::optimizer, "adamw"},
                                                      {ConfigField::global_batch, "128"},
                                                      {ConfigField::micro_batch, "8"},
                                                      {ConfigField::sequence, "2048"},
                                                      {PlanChoice::zero, "2"}});
constexpr auto actor_usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                        {ConfigField::optimizer, "adamw"},
                                                        {ConfigField::global_batch, "128"},
                                                        {ConfigField::micro_batch, "1"},
                                                        {ConfigField::added_tokens, "1024"},
                                                        {ConfigField::sequence, "1024"},
                                                        {ConfigField::nodes, "1"},
                                                        {ConfigField::gpus_per_node, "8"},
                                                        {PlanChoice::zero, "2"}});

constexpr auto not_modeled =
    argument_names("--ds.packing_samples", "--packing_samples", "--train.dynamic_batch_enable", "--use_dynamic_batch",
                   "--train.max_tokens_per_gpu", "--train_max_tokens_per_gpu", "--ds.deepcompile", "--deepcompile",
                   "--train.enable_ema", "--enable_ema", "--data.max_images_per_prompt");

constexpr auto harmless = argument_names(
    "--ckpt.*", "--logger.*", "--eval.*", "--train.max_epochs", "--train.num_episodes", "--train.seed",
    "--train.full_determinism_enable", "--train.colocate_*", "--train.async_*", "--train.partial_rollout*",
    "--train.agent_*", "--data.*", "--adam.*", "--muon.*", "--model.*", "--ds.lora.alpha", "--ds.use_universal_ckpt",
    "--ds.overlap_comm", "--ds.ring_attn_head_stride", "--ds.enable_sleep", "--actor.*", "--critic.*", "--ref.*",
    "--reward.*", "--vllm.*", "--rollout.*", "--algo.*", "--save_*", "--load_*", "--ckpt_*", "--logging_*", "--eval_*",
    "--max_epochs", "--max_samples", "--learning_rate", "--l2", "--lr_*", "--min_lr*", "--input_*", "--output_*",
    "--dataset*", "--prompt_data*", "--label_key", "--apply_chat_template", "--use_wandb", "--wandb_*", "--vllm_*",
    "--ref_*", "--reward_*", "--remote_rm_url", "--critic_*", "--actor_*", "--colocate_*", "--rollout_*",
    "--n_samples_per_prompt", "--num_episodes", "--init_kl_coef", "--gamma", "--lambd", "--normalize_reward",
    "--advantage_*", "--use_kl_*", "--kl_*", "--eps_*", "--seed", "--max_norm", "--aux_loss_coef", "--disable_*",
    "--enable_*", "--*_enable_sleep", "--async_*", "--agent_*", "--lora_alpha", "--overlap_comm",
    "--gradient_checkpointing_use_reentrant", "--tokenizer_*", "--use_tensorboard", "--micro_rollout_batch_size",
    "--ring_head_stride", "--address", "--runtime-env-json", "--dynamic_filtering*", "--freezing_actor_steps");

constexpr auto sft_programs = argument_names("openrlhf.cli.train_sft", "*openrlhf/cli/train_sft.py");
constexpr auto actor_programs = argument_names("openrlhf.cli.train_ppo*", "*openrlhf/cli/train_ppo*");

}  // namespace openrlhf_tables

const ConfigurationFormat openrlhf_sft_arguments{.name = "OpenRLHF (supervised fine-tuning)",
                                                 .software = "deepspeed",
                                                 .language = ConfigurationLanguage::script,
                                                 .rows = openrlhf_tables::sft_rows,
                                                 .usual = openrlhf_tables::sft_usual,
                                                 .not_modeled = openrlhf_tables::not_modeled,
                                                 .programs = openrlhf_tables::sft_programs,
                                                 .harmless = openrlhf_tables::harmless,
                                                 .loads_half = true};

const ConfigurationFormat openrlhf_arguments{
    .name = "OpenRLHF",
    .software = "deepspeed",
    .language = ConfigurationLanguage::script,
    .rows = openrlhf_tables::actor_rows,
    .usual = openrlhf_tables::actor_usual,
    .not_modeled = openrlhf_tables::not_modeled,
    .programs = openrlhf_tables::actor_programs,
    .harmless = openrlhf_tables::harmless,
    .note = "the answer is one update of the actor; generation, rewards, the reference and the critic are not included",
    .loads_half = true};

}  // namespace ddl
