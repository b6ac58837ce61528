#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace transformers_tables {

// Sources of the names: huggingface/transformers, training_args.py and examples/pytorch/language-modeling/run_clm.py; TRL,
// trl/trainer/sft_config.py and model_config.py; lm-sys/FastChat,
// fastchat/train/train_lora.py; OpenGVLab/InternVL; microsoft/DeepSpeedExamples, applications/DeepSpeed-Chat (lora_dim,
// offload); artidoro/qlora, qlora.py (source_max_len, bits); yangjianxin1/Firefly, component/argument.py (train_mode).
constexpr auto tensor_floats = argument_words("true=tf32", "*=");
constexpr auto recomputed = argument_words("true=full", "false=none", "1>full", "0>none");
constexpr auto plain_optimizers =
    argument_words("adamw_torch=adamw", "adamw_torch_fused=adamw", "adamw_hf=adamw", "adafactor=adafactor",
                   "adamw_apex_fused=adamw", "adamw_bnb_8bit=adam8bit", "adamw_8bit=adam8bit",
                   "paged_adamw_8bit=paged-adam8bit", "paged_adamw_32bit=paged-adamw", "sgd=momentum");
constexpr auto optimizers = joined(plain_optimizers, common::projected_optimizers);
constexpr auto attentions =
    argument_words("flash_attention_2=flash2", "flash_attention_3=flash3", "sdpa=fused", "flex_attention=fused",
                   "eager=unfused", "*flash-attn3*=flash3", "*flash-attn*=flash2", "*flash*=fused");
constexpr auto shards =
    argument_words("full_shard=3", "shard_grad_op=2", "hybrid_shard=3", "hybrid_shard_zero2=2", "no_shard=0");
constexpr auto hybrids = argument_words("hybrid_shard=yes", "hybrid_shard_zero2=yes", "full_shard=no", "shard_grad_op=no");
constexpr auto offloads = argument_words("offload=weights");
constexpr auto four_bits = argument_words("true=nf4", "false=", "1>nf4", "0>");
constexpr auto adapters = argument_words("true=lora", "false=none", "1>lora", "0>none");
// Without QLoRA, other arguments decide on adapters.
constexpr auto quantized_adapters = argument_words("true=lora", "false=", "1>lora", "0>");
constexpr auto full = argument_words("true=none", "false=");
constexpr auto bits = argument_words("4=nf4", "8=int8", "*=");
constexpr auto modes = argument_words("full=none", "lora=lora", "qlora=lora");
constexpr auto mode_bases = argument_words("qlora=nf4", "*=");
// `auto` is the type of the checkpoint. Most checkpoints are in half precision.
constexpr auto loads =
    argument_words("auto=half", "*float16=half", "bf16=half", "fp16=half", "*float32=full", "fp32=full", "*=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"--model_name_or_path|--model_id", ConfigField::model},
    weak({"--config_name|--model_name", ConfigField::model}),
    weak(only_read({"--llm_model_name_or_path", ConfigField::model})),
    {"--per_device_train_batch_size", ConfigField::micro_batch},
    {"--gradient_accumulation_steps", ConfigField::accumulation},
    {"--bf16", ConfigField::precision, "bf16", common::brains},
    {"--fp16", ConfigField::precision, "fp16", common::halves},
    only_read(weak({"--tf32", ConfigField::precision, "", tensor_floats})),
    {"--gradient_checkpointing|--grad_checkpoint", PlanChoice::recompute, "full", recomputed},
    {"--model_max_length|--max_seq_length|--max_seq_len|--max_length|--block_size", ConfigField::sequence},
    only_read({"--data_max_length", ConfigField::sequence}),  // OpenLMLab/LOMO, lomo/src/arguments.py
    // Texts that are embedded, and texts that are generated [ContextualAI/gritlm, gritlm/training/arguments.py].
    only_read(weak({"--passage_max_len", ConfigField::sequence})),
    only_read({"--generative_max_len|--target_max_len", ConfigField::sequence}),
    only_read({"--source_max_len", ConfigField::added_tokens}),
    {"--optim", ConfigField::optimizer, "", optimizers},
    only_read({"--optim", ConfigField::updates_in_backward, "", common::updated_in_backward}),
    only_read({"--optim_args", ConfigField::optimizer_arguments}),
    only_read({"--optim_target_modules", ConfigField::projected_modules}),
    only_read({"--use_dora", ConfigField::adapter_kind, "dora", common::weighted_adapters}),
    {"--adafactor", ConfigField::optimizer, "adafactor"},
    {"--attn_implementation", ConfigField::attention, "", attentions},
    listed({"--fsdp", PlanChoice::zero, "", shards}),
    listed({"--fsdp", ConfigField::shards_nodes, "", hybrids}),
    listed({"--fsdp", PlanChoice::offload, "", offloads}),
    // Keys of `fsdp_config` [huggingface/transformers, src/transformers/training_args.py].
    listed({"--fsdp_config.activation_checkpointing", PlanChoice::recompute, "full", recomputed}),
    listed({"--fsdp_config.reshard_after_forward", ConfigField::reshards, "", common::flags}),
    only_read(
        {"--accelerator_config.gradient_accumulation_kwargs.sync_each_batch", ConfigField::syncs_each, "", common::flags}),
    {"--use_peft|--use_lora|--lora_enable", ConfigField::adapter, "lora", adapters},
    {"--use_qlora", ConfigField::base, "nf4", four_bits},
    // LMFlow's flag includes --use_lora [OptimalScale/LMFlow, src/lmflow/args.py].
    weak(only_read({"--use_qlora", ConfigField::adapter, "lora", quantized_adapters})),
    {"--lora_r|--lora_rank|--lora_dim|--use_llm_lora", ConfigField::adapter_rank},
    only_read({"--lora_dropout", ConfigField::adapter_dropout}),
    only_read({"--offload", PlanChoice::offload, "optimizer"}),
    // Forms of fine-tuning in QLoRA's and Firefly's programs.
    only_read({"--full_finetune", ConfigField::adapter, "none", full}),
    only_read({"--bits", ConfigField::base, "", bits}),
    only_read({"--train_mode", ConfigField::adapter, "", modes}),
    only_read({"--train_mode", ConfigField::base, "", mode_bases}),
    only_read({"--lora_target_modules", ConfigField::adapter_layers}),
    // Names in ymcui/Chinese-LLaMA-Alpaca, LlamaFamily/Llama-Chinese and RUCAIBox/LLMBox.
    only_read({"--target_modules|--trainable", ConfigField::adapter_layers}),
    only_read({"--load_in_bits", ConfigField::base, "", bits}),
    // Names in huggingface/peft, examples/sft/train.py.
    only_read({"--use_peft_lora", ConfigField::adapter, "lora", adapters}),
    weak(only_read({"--qlora", ConfigField::adapter, "lora", quantized_adapters})),
    only_read({"--use_4bit_quantization", ConfigField::base, "nf4", four_bits}),
    only_read({"--use_8bit_quantization", ConfigField::base, "int8", common::eight_bits}),
    only_read({"--qlora", ConfigField::base, "nf4", four_bits}),
    only_read({"--lora_modules_to_save|--modules_to_save", ConfigField::trained_modules}),
    only_read({"--freeze_encoder", ConfigField::frozen_encoder, "yes", common::flags}),
    only_read({"--freeze_feature_encoder", ConfigField::frozen_features, "yes", common::flags}),
    only_read({"--dtype|--torch_dtype", ConfigField::loaded, "", loads}),
    {"--load_in_4bit", ConfigField::base, "nf4", four_bits},
    {"--load_in_8bit", ConfigField::base, "int8", common::eight_bits},
    {"--q_lora", ConfigField::base, "nf4", four_bits},
    only_read({"--use_liger_kernel|--use_liger", ConfigField::loss, "linear", common::fused_heads}),
    {"--torch_compile", ConfigField::compiled, "yes", common::flags},
    // Ulysses' exchange of heads [allenai/open-instruct, open_instruct/finetune.py; modelscope/ms-swift, arguments].
    only_read({"--sequence_parallel_size", ConfigField::context}),
    only_read({"--sequence_parallel_size", PlanChoice::context_exchange, "ulysses"}),
    {"--deepspeed", ConfigField::deepspeed_file},
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto not_modeled =
    argument_names("--torch_empty_cache_steps", "--packing", "--group_by_length", "--use_reentrant", "--fsdp_config");

constexpr auto marks = argument_names("per_device_train_batch_size", "model_name_or_path", "fsdp_config.auto_wrap_policy");

constexpr auto harmless = argument_names(
    "--output_dir", "--overwrite_*", "--do_*", "--num_train_epochs", "--max_steps", "--learning_rate", "--lr_*",
    "--warmup_*", "--weight_decay", "--adam_*", "--max_grad_norm", "--logging_*", "--log_*", "--save_*", "--eval_*",
    "--evaluation_*", "--load_best_*", "--metric_*", "--per_device_eval_batch_size", "--report_to", "--run_name", "--seed",
    "--data_seed", "--data*", "--train_file", "--validation_file", "--tokenizer_*", "--config_name", "--cache_dir",
    "--resume_*", "--push_*", "--hub_*", "--disable_tqdm", "--preprocessing_*", "--local_rank", "--ddp_*",
    "--remove_unused_columns", "--tf32", "--use_fast_tokenizer", "--trust_remote_code", "--low_cpu_mem_usage",
    "--torch_dtype", "--dtype", "--lazy_preprocess", "--chat_template", "--project_name", "--wandb*", "--tracker*",
    "--with_tracking", "--lora_alpha", "--lora_bias", "--lora_weight_*", "--lora_task_type",
    "--gradient_checkpointing_kwargs*", "--fsdp_transformer_*", "--include_*", "--exp_name", "--max_train_samples",
    "--max_eval_samples", "--validation_*", "--template_name", "--tokenize_*", "--task_type", "--final_lr_portion",
    "--prob_map", "--average_tokens_across_devices", "--assistant_only_loss", "--eos_token", "--pad_token", "--hf_*",
    "--wait_for_*", "--bos_*", "--add_*", "--attn_*", "--use_flash_attn", "--keep_*", "--clean_*", "--checkpointing_steps",
    "--use_slow_tokenizer", "--reduce_loss", "--completion_only_loss", "--neftune_*", "--streaming", "--model_revision",
    "--use_auth_token", "--token", "--version", "--conv_type", "--flash_attn", "--model_type", "--dataloader_*",
    "--seq_parallel_*", "--fsdp_config.*", "--ignore_data_skip", "--auto_find_batch_size");

constexpr auto other_model = "name the trained model with --model; the other arguments of the file are used";
constexpr auto absent = "null none ~";  // a key with such a value is as if it were missing
constexpr auto other_adapters = "set model and plan by options: recommend MODEL@lora=16 --gpus N";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"--vision_tower", "a vision model is trained as well", other_model, true},
    {"--mm_*", "a vision model is trained as well", other_model, true},
    {"--vision_path", "a vision model is trained as well", other_model, true},
    {"--image_folder", "a vision model is trained as well", other_model, true},
    {"--image_encoder_*", "a vision model is trained as well", other_model, true},
    // Names of OpenGVLab/InternVL, internvl_chat/internvl/train/internvl_chat_finetune.py.
    {.key = "--freeze_llm",
     .reason = "only a part of the model is trained",
     .hint = "pass the script of a training of the whole model, or of adapters",
     .without = "--use_llm_lora"},
    // Programs of encoders and decoders, and of ChatGLM [huggingface/transformers, examples/pytorch/summarization;
    // THUDM/ChatGLM-6B, ptuning].
    {.key = "--max_source_length",
     .reason = "prompt and answer have separate lengths",
     .hint = "set the length of a sequence, for example --seq 1024",
     .unless = "--seq"},
    {.key = "--max_input_length",  // THUDM/ChatGLM3, finetune_demo/configs
     .reason = "prompt and answer have separate lengths",
     .hint = "set the length of a sequence, for example --seq 1024",
     .unless = "--seq"},
    // Copies of QLoRA's program have different defaults of this length.
    {.key = "--target_max_len",
     .reason = "the length of the prompt is not given",
     .hint = "set the length of prompt and answer together, for example --seq 1024",
     .without = "--source_max_len",
     .unless = "--seq"},
    {"--freeze_backbone", "only a part of the model is trained", other_model, true},
    {"--medusa_num_heads", "only additional heads are trained, on a frozen model",
     "set model and plan by options: recommend MODEL --gpus N"},  // FasterDecoding/Medusa, medusa/train
    // Arguments of engines that generate text, and of commands that only prepare data [vllm-project/vllm,
    // engine/arg_utils.py; allenai/open-instruct, open_instruct/finetune.py].
    {"--gpu_memory_utilization", "text is generated", "pass the script of the training instead"},
    {.key = "--max_new_tokens",
     .reason = "text is generated",
     .hint = "pass the script of the training instead",
     .without = "--do_train --learning_rate --lr --output_dir --num_train_epochs --num_epochs --epochs --max_steps "
                "--per_device_train_batch_size --train_batch_size --gradient_accumulation_steps --optim"},
    {"--cache_dataset_only", "data is prepared", "pass the script of the training instead"},
    {"--num_generations", "samples are generated and scored in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch"},
    {"--beta", "a second model runs without gradients, or two samples are compared", other_model, true},
    {"--max_prompt_length", "a second model runs without gradients, or samples are generated", other_model, true},
    {"--ref_model*", "a second model runs without gradients", other_model, true},
    {"--reference_model*", "a second model runs without gradients", other_model, true},
    {"--reward_model_name*", "samples are generated and scored in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch"},
    // Trainings of embeddings [TIGER-AI-Lab/VLM2Vec, src/arguments.py; FlagOpen/FlagEmbedding; texttron/tevatron].
    {"--pooling_mode", "a contrastive loss compares the samples of a batch", other_model,
     true},  // McGill-NLP/llm2vec, train_configs
    {"--grad_cache", "a contrastive loss compares the samples of a batch", other_model, true},
    {"--train_group_size", "a contrastive loss compares the samples of a batch", other_model, true},
    {"--negatives_cross_device", "a contrastive loss compares the samples of a batch", other_model, true},
    {"--tensor_parallel_size", "the program is not Hugging Face's Trainer, and shards layers",
     "set model and plan by options: recommend MODEL --gpus N", false, "", "1"},
    {"--delta_type", "these adapters are not read", "name the model with other adapters: --model NAME@lora=16", true, "",
     "lora"},
    {"--peft_type", "these adapters are not read", other_adapters, false, "", "lora"},
    {"--ia3_enable", "these adapters are not read", other_adapters},
    {"--prefix_enable", "these adapters are not read", other_adapters},
    {"--teacher_model*", "a second model runs without gradients", other_model, true},
    // jxiw/MambaInLlama, train_configs.py: layers of a decoder become Mamba's, and the decoder teaches them.
    {"--ssm_layers", "not all layers are transformer blocks", other_model, true, "*", absent},
    // Hydra's configurations of programs that build their own trainer share names with Trainer's arguments.
    {"*._target_", "the program is not Hugging Face's Trainer, and its keys have other meanings",
     "set model and plan by options: recommend MODEL --gpus N"},
});

}  // namespace transformers_tables

const ConfigurationFormat transformers_arguments{.name = "Hugging Face Trainer",
                                                 .software = "pytorch",
                                                 .language = ConfigurationLanguage::script,
                                                 .rows = transformers_tables::rows,
                                                 .usual = {},
                                                 .not_modeled = transformers_tables::not_modeled,
                                                 .marks = transformers_tables::marks,
                                                 .harmless = transformers_tables::harmless,
                                                 .refused = transformers_tables::refused,
                                                 .also = ConfigurationLanguage::yaml,
                                                 .loads_half = true,
                                                 .is_trainer = true};

namespace trl_tables {

// TRL's supervised fine-tuning has the arguments of the Trainer, and defaults of its own [huggingface/trl,
// trl/trainer/sft_config.py and base_config.py: max_length, gradient_checkpointing, bf16; trl/trainer/model_config.py:
// use_peft, lora_r, dtype; trl/cli/accelerate_config.py].
constexpr auto no_brains = argument_words("false=fp32", "true=");
constexpr auto known_stages = argument_words("zero1=1", "zero2=2", "zero3=3", "fsdp1=3", "fsdp2=3", "*=");
constexpr auto known_kinds = argument_words("zero*=deepspeed", "fsdp*=fsdp", "multi_gpu=ddp", "single_gpu=ddp", "*=");
constexpr auto own_rows = std::to_array<ArgumentRow>({
    only_read(weak({"--bf16", ConfigField::precision, "", no_brains})),
    only_read({"--num_processes", ConfigField::gpus}),
    only_read({"--accelerate_config", PlanChoice::zero, "", known_stages}),
    only_read({"--accelerate_config", ConfigField::distributed_type, "", known_kinds}),
    only_read({"--accelerate_config", ConfigField::accelerate_file}),
});
constexpr auto rows = joined(transformers_tables::rows, own_rows);

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::sequence, "1024"},
                                                  {ConfigField::micro_batch, "8"},
                                                  {ConfigField::accumulation, "1"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::adapter, "none"},
                                                  {ConfigField::adapter_rank, "16"},
                                                  {ConfigField::adapter_dropout, "0.05"},
                                                  {ConfigField::loaded, "full"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto programs = argument_names("trl", "*trl/scripts/sft.py", "trl.scripts.sft");
constexpr auto own_refused = std::to_array<RefusedArgument>(
    {{"tool:-command", "nothing is trained, or further models run in addition to training",
      "pass the command that trains: trl sft", false, "dpo grpo kto reward rloo vllm-serve env skills"}});
constexpr auto refused = joined(transformers_tables::refused, own_refused);

}  // namespace trl_tables

const ConfigurationFormat trl_arguments{.name = "TRL",
                                        .software = "pytorch",
                                        .language = ConfigurationLanguage::script,
                                        .rows = trl_tables::rows,
                                        .usual = trl_tables::usual,
                                        .not_modeled = transformers_tables::not_modeled,
                                        .programs = trl_tables::programs,
                                        .harmless = transformers_tables::harmless,
                                        .refused = trl_tables::refused,
                                        .loads_half = true,
                                        .is_trainer = true};

}  // namespace ddl
