#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace swift_tables {

// Sources of names and defaults: modelscope/ms-swift, swift/llm/argument/train_args.py, tuner_args.py and base_args; docs,
// Command-line-parameters. Further arguments are those of transformers' TrainingArguments, or of Megatron-LM.
constexpr auto types = argument_words("lora=lora", "full=none");
constexpr auto stages = argument_words("zero0=0", "zero1=1", "zero2=2", "zero3=3", "zero2_offload>2", "zero3_offload>3");
constexpr auto offloads = argument_words("zero2_offload=optimizer", "zero3_offload=weights");
// `fsdp2` is a file of FSDP's usual choices in the package [swift/config/fsdp2.json].
constexpr auto shards = argument_words("fsdp2=3", "full_shard=3", "shard_grad_op=2", "hybrid_shard=3", "no_shard=0");
constexpr auto weight_offloads = argument_words("offload=weights");
// Double quantization is on by default [base_args/quant_args.py, bnb_4bit_use_double_quant].
constexpr auto quantized = argument_words("4=nf4-double", "8=int8", "0=");
constexpr auto attentions = argument_words("flash_attn=flash2", "flash_attention_2=flash2", "flash_attention_3=flash3",
                                           "sdpa=fused", "eager=unfused");

constexpr auto projections = argument_words("true=galore", "false=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"--model", ConfigField::model},
    only_read({"--use_galore", ConfigField::projection, "galore", projections}),
    only_read({"--galore_rank", ConfigField::projection_rank}),
    only_read({"--galore_update_proj_gap", ConfigField::projection_every}),
    only_read({"--galore_target_modules", ConfigField::projected_modules}),
    only_read({"--galore_optim_per_parameter", ConfigField::updates_in_backward, "yes", common::only_yes}),
    only_read({"--use_dora", ConfigField::adapter_kind, "dora", common::weighted_adapters}),
    weak({"--model_id_or_path|--model_type", ConfigField::model}),
    {"--train_type|--tuner_type|--sft_type", ConfigField::adapter, "", types},
    {"--lora_rank", ConfigField::adapter_rank},
    only_read({"--lora_dropout|--lora_dropout_p", ConfigField::adapter_dropout}),
    only_read({"--target_modules", ConfigField::adapter_layers}),
    only_read({"--use_liger_kernel", ConfigField::loss, "linear", common::fused_heads}),
    only_read({"--modules_to_save", ConfigField::trained_modules}),
    only_read({"--freeze_vit", ConfigField::frozen_vision, "yes", common::flags}),
    only_read({"--freeze_aligner", ConfigField::frozen_projector, "yes", common::flags}),
    {"--quant_bits|--quantization_bit", ConfigField::base, "", quantized},
    {"--max_length", ConfigField::sequence},
    {"--torch_dtype|--dtype", ConfigField::precision, "", common::torch_types},
    {"--per_device_train_batch_size|--batch_size", ConfigField::micro_batch},
    {"--gradient_accumulation_steps", ConfigField::accumulation},
    {"--gradient_checkpointing", PlanChoice::recompute, "full", common::recomputed},
    {"--attn_impl", ConfigField::attention, "", attentions},
    {"--sequence_parallel_size", ConfigField::context},
    listed({"--deepspeed", PlanChoice::zero, "", stages}),
    listed({"--deepspeed", PlanChoice::offload, "", offloads}),
    {"--deepspeed", ConfigField::deepspeed_file},
    listed({"--fsdp", PlanChoice::zero, "", shards}),
    listed({"--fsdp", PlanChoice::offload, "", weight_offloads}),
    only_read({"--fsdp", ConfigField::trainer_file}),
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "lora"},
                                                  {ConfigField::adapter_rank, "8"},
                                                  // [docs/source_en/Instruction/Command-line-parameters.md]
                                                  {ConfigField::adapter_dropout, "0.05"},
                                                  {ConfigField::precision, "bf16"},
                                                  // [swift/arguments/base_args/model_args.py, torch_dtype]
                                                  {ConfigField::loaded, "half"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  // [swift/arguments/tuner_args.py, galore_update_proj_gap]
                                                  {ConfigField::projection_every, "50"},
                                                  {ConfigField::frozen_vision, "yes"},
                                                  {ConfigField::frozen_projector, "yes"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("--packing", "--quant_method", "--freeze_llm", "--padding_free");

// Keys of a file of arguments for `swift sft FILE`.
constexpr auto marks = argument_names("train_type", "tuner_type", "sft_type", "rlhf_type");
constexpr auto programs =
    argument_names("swift", "swift.cli.main", "swift/cli/main.py", "swift.cli.sft", "swift/cli/sft.py", "llm_sft.py");

constexpr auto harmless = argument_names(
    "--dataset*", "--val_dataset", "--split_dataset_ratio", "--output_dir", "--num_train_epochs", "--max_steps",
    "--learning_rate", "--lr_*", "--warmup_*", "--lora_alpha", "--eval_*", "--save_*", "--logging_*", "--system",
    "--dataloader_*", "--model_author", "--model_name", "--report_to", "--seed", "--weight_decay",
    "--per_device_eval_batch_size", "--load_from_cache_file", "--template*", "--columns", "--loss_scale", "--use_hf",
    "--custom_*", "--external_plugins", "--adapters", "--resume_*", "--ddp_*", "--truncation_strategy", "--max_pixels",
    "--create_checkpoint_symlink", "--acc_*", "--metric*", "--max_grad_norm", "--adam_*", "--streaming", "--strict",
    "--deepspeed_autotp_size", "--use_logits_to_keep", "--lazy_tokenize", "--agent_template", "--optim*", "--check_model",
    "--attn_impl");

constexpr auto other_model = "name the trained model with --model; the other arguments of the file are used";
constexpr auto as_trained = "pass the command that trains: swift sft, or swift pt";
constexpr auto refused = std::to_array<RefusedArgument>({
    // [docs/source_en/Instruction/Command-line-parameters.md, device_map]
    {"environment:-CUDA_VISIBLE_DEVICES", "one process spreads the layers over these GPUs, of which one computes at a time",
     "start a process for each GPU with NPROC_PER_NODE, or name one GPU", false, "", "1", "",
     "--environment:-NPROC-PER-NODE --torchrun:--nproc-per-node --torchrun:--nnodes --accelerate:--num-processes "
     "--deepspeed:--num-gpus"},
    {"tool:-command", "nothing is trained", as_trained, false,
     "infer eval export deploy app merge-lora sample rollout web-ui webui merge_lora"},
    {"tool:-command", "further models run, or samples are generated, in addition to training", as_trained, false, "rlhf"},
    {"--rlhf_type", "further models run, or samples are generated, in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch"},
    {"--tuner_type", "only low-rank adapters are read", other_model, true,
     "adalora boft ia3 longlora vera llamapro reft bone lora_llm custom"},
    {"--train_type", "only low-rank adapters are read", other_model, true,
     "adalora boft ia3 longlora vera llamapro reft bone"},
    {"--task_type", "a model without a language-model head is trained", other_model, true,
     "seq_cls embedding reranker generative_reranker prm"},
    {"--infer_backend", "a model is served", other_model},
});

}  // namespace swift_tables

const ConfigurationFormat swift_arguments{.name = "ms-swift",
                                          .software = "pytorch",
                                          .language = ConfigurationLanguage::script,
                                          .rows = swift_tables::rows,
                                          .usual = swift_tables::usual,
                                          .not_modeled = swift_tables::not_modeled,
                                          .marks = swift_tables::marks,
                                          .programs = swift_tables::programs,
                                          .harmless = swift_tables::harmless,
                                          .refused = swift_tables::refused,
                                          .also = ConfigurationLanguage::yaml,
                                          .loads_half = true};

namespace swift_megatron_tables {

// `megatron sft` reads the model's sizes from the model's configuration. Further arguments are those of Megatron-LM, with
// underscores instead of dashes [docs/source_en/Megatron-SWIFT/Command-line-parameters.md].
constexpr auto types = argument_words("lora=lora", "full=none");
constexpr auto arguments = std::to_array<ArgumentRow>({
    {"--model", ConfigField::model},
    weak({"--load|--mcore_model", ConfigField::model}),
    {"--train_type|--tuner_type", ConfigField::adapter, "", types},
    {"--lora_rank", ConfigField::adapter_rank},
    only_read({"--lora_dropout", ConfigField::adapter_dropout}),
    only_read({"--target_modules", ConfigField::adapter_layers}),
    {"--max_length", ConfigField::sequence},
});
constexpr auto rows = one_name_each<arguments>();
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::adapter_rank, "8"},
                                                  {ConfigField::adapter_dropout, "0.05"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::global_batch, "16"},
                                                  // [swift/megatron/arguments/megatron_args.py]
                                                  {ConfigField::expert_tensor, "1"},
                                                  {PlanChoice::zero, "1"},
                                                  {PlanChoice::recompute, "selective"}});
constexpr auto programs = argument_names("megatron");
constexpr auto not_modeled = argument_names("--packing", "--mtp_num_layers", "--optimizer_cpu_offload");
constexpr auto refused = std::to_array<RefusedArgument>({
    {"tool:-command", "nothing is trained", swift_tables::as_trained, false, "export"},
    {"tool:-command", "further models run, or samples are generated, in addition to training", swift_tables::as_trained,
     false, "rlhf"},
    {"--rlhf_type", "further models run, or samples are generated, in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch"},
});

}  // namespace swift_megatron_tables

const ConfigurationFormat swift_megatron_arguments{"ms-swift with Megatron",
                                                   "megatron",
                                                   ConfigurationLanguage::script,
                                                   swift_megatron_tables::rows,
                                                   swift_megatron_tables::usual,
                                                   swift_megatron_tables::not_modeled,
                                                   {},
                                                   {},
                                                   swift_megatron_tables::programs,
                                                   swift_tables::harmless,
                                                   swift_megatron_tables::refused};

}  // namespace ddl
