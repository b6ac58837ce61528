#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace llama_factory_tables {

// Sources of names and defaults: hiyouga/LLaMA-Factory, src/llamafactory/hparams/data_args.py, finetuning_args.py and
// model_args.py. Further arguments, such as per_device_train_batch_size, are those of transformers' TrainingArguments.
constexpr auto recomputed = argument_words("true=none", "false=full");
constexpr auto types = argument_words("lora=lora", "full=none", "oft>none", "freeze>none");
// Double quantization is on by default [model_args.py, double_quantization].
constexpr auto quantized = argument_words("4=nf4-double", "8=int8");
// Without an argument of the precision, all weights that are trained are cast to fp32, and nothing is cast while they are
// used [model/adapter.py, init_adapter].
constexpr auto trained_full = argument_words("full=fp32", "*=");
constexpr auto attentions =
    argument_words("fa2=flash2", "fa3=flash3", "sdpa=fused", "disabled=unfused", "off=unfused", "auto=fused");
constexpr auto optimizers =
    argument_words("adamw_torch=adamw", "adamw_torch_fused=adamw", "adamw_hf=adamw", "adafactor=adafactor",
                   "adamw_8bit=adam8bit", "adamw_bnb_8bit=adam8bit", "paged_adamw_8bit=paged-adam8bit", "sgd=momentum");

// An option projects the gradients of the optimizer that `optim` names [train/trainer_utils.py].
constexpr auto singular = argument_words("true=galore", "false=");
constexpr auto random = argument_words("true=apollo", "false=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"--model_name_or_path", ConfigField::model},
    only_read({"--use_galore", ConfigField::projection, "galore", singular}),
    only_read({"--use_apollo", ConfigField::projection, "apollo", random}),
    only_read({"--galore_rank", ConfigField::projection_rank}),
    only_read({"--apollo_rank", ConfigField::projection_rank}),
    only_read({"--galore_update_interval", ConfigField::projection_every}),
    only_read({"--galore_target", ConfigField::projected_modules}),
    only_read({"--apollo_target", ConfigField::projected_modules}),
    only_read({"--galore_layerwise", ConfigField::updates_in_backward, "yes", common::only_yes}),
    only_read({"--apollo_layerwise", ConfigField::updates_in_backward, "yes", common::only_yes}),
    only_read({"--use_dora", ConfigField::adapter_kind, "dora", common::weighted_adapters}),
    {"--finetuning_type", ConfigField::adapter, "", types},
    {"--lora_rank", ConfigField::adapter_rank},
    only_read({"--lora_dropout", ConfigField::adapter_dropout}),
    only_read({"--lora_target", ConfigField::adapter_layers}),
    {"--quantization_bit", ConfigField::base, "", quantized},
    only_read({"--enable_liger_kernel", ConfigField::loss, "linear", common::fused_heads}),
    only_read({"--additional_target", ConfigField::trained_modules}),
    only_read({"--freeze_vision_tower", ConfigField::frozen_vision, "yes", common::flags}),
    only_read({"--freeze_multi_modal_projector", ConfigField::frozen_projector, "yes", common::flags}),
    only_read({"--pure_bf16", ConfigField::pure, "yes", common::only_yes}),
    {"--cutoff_len", ConfigField::sequence},
    {"--per_device_train_batch_size", ConfigField::micro_batch},
    {"--gradient_accumulation_steps", ConfigField::accumulation},
    {"--bf16", ConfigField::precision, "bf16", common::brains},
    {"--fp16", ConfigField::precision, "fp16", common::halves},
    only_read({"--fp8", ConfigField::fp8, "yes", common::flags}),
    only_read({"--pure_bf16", ConfigField::precision, "bf16", common::brains}),
    only_read({"--use_badam", ConfigField::precision, "bf16", common::brains}),
    only_read(weak({"--finetuning_type", ConfigField::precision, "", trained_full})),
    {"--disable_gradient_checkpointing", PlanChoice::recompute, "none", recomputed},
    {"--flash_attn", ConfigField::attention, "", attentions},
    {"--optim", ConfigField::optimizer, "", optimizers},
    {"--deepspeed", ConfigField::deepspeed_file},
});

// LLaMA-Factory recomputes blocks by default [model/model_utils/checkpointing.py].
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "lora"},
                                                  {ConfigField::adapter_rank, "8"},
                                                  {ConfigField::sequence, "2048"},
                                                  {ConfigField::micro_batch, "8"},
                                                  {ConfigField::accumulation, "1"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::projection_rank, "16"},
                                                  {ConfigField::frozen_vision, "yes"},
                                                  {ConfigField::frozen_projector, "yes"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled =
    argument_names("--packing", "--use_unsloth", "--neat_packing", "--use_badam", "--shift_attn", "--fsdp", "--fsdp_config");

constexpr auto marks = argument_names("finetuning_type", "cutoff_len", "infer_backend");
constexpr auto programs = argument_names("llamafactory-cli", "llamafactory.cli", "lmf", "src/train_bash.py",
                                         "*LLaMA-Factory/src/train.py", "*LlamaFactory/src/train.py");

constexpr auto harmless = argument_names(
    "--stage", "--do_*", "--dataset*", "--template", "--output_dir", "--overwrite_*", "--num_train_epochs", "--max_steps",
    "--learning_rate", "--lr_*", "--warmup_*", "--logging_*", "--save_*", "--eval_*", "--evaluation_*", "--val_size",
    "--per_device_eval_batch_size", "--preprocessing_*", "--max_samples", "--plot_loss", "--report_to", "--run_name",
    "--seed", "--ddp_*", "--dataloader_*", "--resume_*", "--trust_remote_code", "--lora_alpha", "--weight_decay",
    "--max_grad_norm", "--adam_*", "--cache_dir", "--media_dir", "--tokenized_path", "--streaming", "--mix_strategy",
    "--interleave_*", "--adapter_name_or_path", "--ref_*", "--pref_*", "--kto_*", "--simpo_*", "--reward_*", "--use_swanlab",
    "--swanlab_*", "--ray_*", "--placement_*", "--resources_*", "--num_workers*", "--upcast_*", "--fp8_backend",
    "--load_best_*", "--metric_*", "--use_fast_tokenizer", "--split_special_tokens", "--push_*", "--hub_*", "--include_*",
    "--disable_tqdm", "--use_reentrant_gc", "--rope_scaling", "--train_on_prompt", "--mask_history", "--predict_*",
    "--compute_accuracy", "--loraplus_*", "--use_rslora", "--create_new_adapter", "--enable_thinking", "--image_*",
    "--video_*", "--badam_*", "--galore_*", "--apollo_*", "--remove_unused_columns", "--model_revision",
    "--low_cpu_mem_usage", "--data_seed");

constexpr auto as_trained = "pass the configuration of the training: stage sft or pt, finetuning_type full or lora";
constexpr auto generates = "a model is evaluated, and nothing is trained";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"--finetuning_type", "only a part of the model is trained, without adapters", as_trained, true, "freeze"},
    {"--finetuning_type", "the adapters are orthogonal matrices, not of low rank", as_trained, false, "oft"},
    {"--use_kt", "experts run on the processors of the host", as_trained},
    {.key = "--stage",
     .reason = "samples are generated, or further models run, in addition to training",
     .hint = as_trained,
     .allowed = "sft pt"},
    {.key = "--do_predict", .reason = generates, .hint = as_trained, .values = "true", .without = "--do_train"},
    {.key = "--do_eval", .reason = generates, .hint = as_trained, .values = "true", .without = "--do_train"},
    {"--do_train", "nothing is trained", as_trained, false, "false"},
    {"--task", "a model is evaluated on a task", as_trained},
    {"tool:-command", "nothing is trained", as_trained, false, "chat export api webchat webui eval version env"},
    {"--export_dir", "a model is merged and exported", as_trained},
    {"--infer_backend", "a model is served", as_trained},
    {"--mixture_of_depths", "a block processes only some tokens", "name the trained model with --model", true},
});

}  // namespace llama_factory_tables

const ConfigurationFormat llama_factory_arguments{.name = "LLaMA-Factory",
                                                  .software = "pytorch",
                                                  .language = ConfigurationLanguage::script,
                                                  .rows = llama_factory_tables::rows,
                                                  .usual = llama_factory_tables::usual,
                                                  .not_modeled = llama_factory_tables::not_modeled,
                                                  .marks = llama_factory_tables::marks,
                                                  .programs = llama_factory_tables::programs,
                                                  .harmless = llama_factory_tables::harmless,
                                                  .refused = llama_factory_tables::refused,
                                                  .also = ConfigurationLanguage::yaml,
                                                  .loads_half = true};

namespace llama_factory_v1_tables {

// Sources of names and defaults: hiyouga/LLaMA-Factory, src/llamafactory/v1/config/training_args.py, model_args.py and
// v1/plugins/model_plugins/peft.py.
constexpr auto types = argument_words("lora=lora", "freeze>none");
constexpr auto precisions = argument_words("true=bf16", "false=fp32");
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto kinds = argument_words("fsdp2=fsdp", "fsdpturbo>fsdp", "deepspeed=deepspeed");
constexpr auto exchanges = argument_words("ulysses=ulysses");
constexpr auto attentions = argument_words("sdpa=fused", "flash_attention_2=flash2", "eager=unfused");
constexpr auto quantized = argument_words("4=nf4", "8=int8");
constexpr auto optimizers = argument_words("muon=muon", "adamw=adamw");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model", ConfigField::model},
    {"peft_config.name", ConfigField::adapter, "", types},
    {"peft_config.r", ConfigField::adapter_rank},
    only_read({"peft_config.lora_dropout", ConfigField::adapter_dropout}),
    only_read({"peft_config.target_modules", ConfigField::adapter_layers}),
    only_read({"peft_config.modules_to_save", ConfigField::trained_modules}),
    {"quant_config.quantization_bit", ConfigField::base, "", quantized},
    {"cutoff_len", ConfigField::sequence},
    {"micro_batch_size", ConfigField::micro_batch},
    {"global_batch_size", ConfigField::global_batch},
    {"bf16", ConfigField::precision, "", precisions},
    {"enable_activation_checkpointing", PlanChoice::recompute, "", recomputed},
    {"dist_config.name", ConfigField::distributed_type, "", kinds},
    {"dist_config.config_file", ConfigField::deepspeed_file},
    {"dist_config.ep_size", ConfigField::expert},
    {"mp_replicate_size", ConfigField::data_replicate},
    {"mp_shard_size", ConfigField::data_shard},
    {"cp_size", ConfigField::context},
    {"cp_mode", PlanChoice::context_exchange, "", exchanges},
    {"flash_attn", ConfigField::attention, "", attentions},
    {"optim_config.name", ConfigField::optimizer, "", optimizers},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::adapter_rank, "8"},
                                                  {ConfigField::adapter_dropout, "0.05"},
                                                  {ConfigField::sequence, "2048"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::distributed_type, "ddp"},
                                                  {PlanChoice::context_exchange, "ulysses"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto marks = argument_names("model_class", "kernel_config.name", "dist_config.name", "init_config.name");

constexpr auto harmless = argument_names(
    "model_class", "train_dataset", "eval_dataset", "output_dir", "learning_rate", "max_steps", "num_train_epochs",
    "max_grad_norm", "seed", "save_*", "logging_*", "sample_*", "max_new_tokens", "trust_remote_code", "kernel_config*",
    "init_config*", "lr_scheduler_config*", "optim_config*", "peft_config*", "quant_config*", "dist_config*",
    "batching_workers", "custom_chat_template", "resume_*", "dist_*", "pref_*", "dp_size", "template");

constexpr auto as_trained = "pass the configuration of a training of all weights, or of low-rank adapters";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"peft_config.name", "only a part of the model is trained, without adapters", as_trained, false, "freeze"},
    {"peft_config.export_dir", "a model is merged and exported", as_trained},
    {"pref_loss", "two samples are compared", as_trained},
});

}  // namespace llama_factory_v1_tables

const ConfigurationFormat llama_factory_v1_yaml{.name = "LLaMA-Factory v1",
                                                .software = "pytorch",
                                                .language = ConfigurationLanguage::yaml,
                                                .rows = llama_factory_v1_tables::rows,
                                                .usual = llama_factory_v1_tables::usual,
                                                .not_modeled = {},
                                                .marks = llama_factory_v1_tables::marks,
                                                .harmless = llama_factory_v1_tables::harmless,
                                                .refused = llama_factory_v1_tables::refused};

}  // namespace ddl
