#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace levanter_tables {

// Sources of names and defaults: stanford-crfm/levanter, src/levanter/trainer.py, models/llama.py, models/gpt2.py and
// main/train_lm.py.
constexpr auto norms = argument_words("gpt2=layer", "llama=rms", "mistral=rms", "mixtral=rms", "qwen=rms", "qwen3=rms");
constexpr auto positions =
    argument_words("gpt2=learned", "llama=rope", "mistral=rope", "mixtral=rope", "qwen=rope", "qwen3=rope");
constexpr auto gates = argument_words("gpt2=no", "llama=yes", "mistral=yes", "mixtral=yes", "qwen=yes", "qwen3=yes");
constexpr auto biases = argument_words("gpt2=yes", "llama=no", "mistral=no", "mixtral=no", "qwen=no", "qwen3=no");
constexpr auto qkv_biases = argument_words("qwen=yes", "gpt2=", "llama=", "mistral=", "mixtral=", "qwen3=");
constexpr auto head_norms = argument_words("qwen3=yes", "gpt2=", "llama=", "mistral=", "mixtral=", "qwen=");
// Defaults of the sizes depend on the type [models/llama.py, from which the other decoders inherit; models/mistral.py and
// models/mixtral.py].
constexpr auto layers = argument_words("gpt2=12", "llama=32", "mistral=32", "mixtral=32", "qwen*=32", "*=");
constexpr auto widths = argument_words("gpt2=768", "llama=4096", "mistral=4096", "mixtral=4096", "qwen*=4096", "*=");
constexpr auto heads = argument_words("gpt2=12", "llama=32", "mistral=32", "mixtral=32", "qwen*=32", "*=");
constexpr auto groups = argument_words("llama=32", "mistral=8", "mixtral=8", "qwen*=32", "*=");
constexpr auto inner = argument_words("llama=11008", "mistral=14336", "mixtral=14336", "qwen*=11008", "*=");
constexpr auto lengths = argument_words("gpt2=1024", "llama=2048", "mistral=8192", "mixtral=8192", "qwen*=2048", "*=");
constexpr auto experts = argument_words("mixtral=8", "*=");
constexpr auto active_experts = argument_words("mixtral=2", "*=");
constexpr auto ties = argument_words("gpt2=yes", "llama=no", "mistral=no", "mixtral=no", "qwen=no", "qwen3=no");
// A policy gives the precisions of weights (p), computation (c) and output (o), or one for all.
constexpr auto precisions = argument_words("*bfloat16*=bf16", "*bf16*=bf16", "*f32*=fp32", "*float32*=fp32");
// -1 stands for all samples of a replica, or for the samples of one pass.
constexpr auto counts = argument_words("-1=", "*=*");
constexpr auto optimizers = argument_words("adam=adamw", "muon=muon", "soap=soap");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.num_layers", ConfigField::layers},
    {"model.hidden_dim", ConfigField::hidden},
    {"model.num_heads", ConfigField::heads},
    {"model.num_kv_heads", ConfigField::kv_heads},
    {"model.head_dim", ConfigField::head_size},
    {"model.intermediate_dim", ConfigField::feed_forward},
    {"model.mlp_scale", ConfigField::feed_forward_ratio},
    {"model.n_routed_experts", ConfigField::experts},
    {"model.num_experts_per_tok", ConfigField::active_experts},
    {"model.seq_len", ConfigField::sequence},
    weak({"max_seq_len", ConfigField::sequence}),
    {"max_train_length", ConfigField::sequence},
    {"model.use_bias", ConfigField::bias, "", common::flags},
    {"model.tie_word_embeddings", ConfigField::tied, "", common::flags},
    {"model.embd_pdrop", ConfigField::hidden_dropout},
    {"model.attn_pdrop", ConfigField::attention_dropout},
    weak({"model.type", ConfigField::layers, "", layers}),
    weak({"model.type", ConfigField::hidden, "", widths}),
    weak({"model.type", ConfigField::heads, "", heads}),
    weak({"model.type", ConfigField::kv_heads, "", groups}),
    weak({"model.type", ConfigField::feed_forward, "", inner}),
    weak({"model.type", ConfigField::sequence, "", lengths}),
    weak({"model.type", ConfigField::experts, "", experts}),
    weak({"model.type", ConfigField::active_experts, "", active_experts}),
    weak({"model.type", ConfigField::norm, "", norms}),
    weak({"model.type", ConfigField::position, "", positions}),
    weak({"model.type", ConfigField::gated, "", gates}),
    weak({"model.type", ConfigField::bias, "", biases}),
    weak({"model.type", ConfigField::qkv_bias, "", qkv_biases}),
    weak({"model.type", ConfigField::query_key_norm, "", head_norms}),
    weak({"model.type", ConfigField::tied, "", ties}),
    {"data.tokenizer", ConfigField::tokenizer},
    // Supervised fine-tuning names the tokenizer at the top [main/sft.py].
    weak({"tokenizer", ConfigField::tokenizer}),
    {"model.gradient_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"trainer.mp", ConfigField::precision, "", precisions},
    {"trainer.quantization.fp8", ConfigField::fp8, "", common::flags},
    {"trainer.fp8", ConfigField::fp8, "", common::flags},
    {"trainer.train_batch_size", ConfigField::global_batch, "", counts},
    {"trainer.per_device_parallelism", ConfigField::micro_batch, "", counts},
    {"trainer.model_axis_size", ConfigField::tensor},
    {"trainer.replica_ici_axis_size", ConfigField::data_replicate},
    {"optimizer.type", ConfigField::optimizer, "", optimizers},
});

// FSDP shards the embedding axis of all weights.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::norm, "rms"},
                                                  {ConfigField::position, "rope"},
                                                  {ConfigField::gated, "yes"},
                                                  {ConfigField::bias, "no"},
                                                  {ConfigField::tied, "no"},
                                                  {ConfigField::hidden_dropout, "0"},
                                                  {ConfigField::attention_dropout, "0"},
                                                  {ConfigField::global_batch, "512"},
                                                  {ConfigField::precision, "fp32"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {PlanChoice::zero, "3"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("trainer.parameter_axis_resources*", "trainer.replica_dcn_axis_size",
                                            "trainer.quantization*", "trainer.model_averaging*");

constexpr auto marks =
    argument_names("trainer.per_device_parallelism", "trainer.mp", "trainer.fsdp_axis", "trainer.tensor_parallel_axes",
                   "trainer.train_batch_size", "trainer.model_axis_size", "trainer.steps_per_eval");
constexpr auto programs = argument_names("levanter.main.train_lm", "*/levanter/main/train_lm.py");

constexpr auto harmless = argument_names(
    "data*", "trainer.*", "optimizer.*", "model.initializer_range", "model.layer_norm_epsilon", "model.activation_function",
    "model.attn_backend", "model.flash_attention_block_size", "model.use_flash_attention", "model.upcast_attn",
    "model.scan_layers", "model.rope.*", "model.reference_checkpoint", "model.scale_attn_by_inverse_layer_idx",
    "model.use_layer_norm_weight", "model.resid_pdrop", "model.cross_entropy_block_size", "hf_*", "eval_*", "epoch",
    "initialize_from*", "tokenizer", "log_*", "out_dir", "z_loss_weight", "chat_*", "supervised_data*", "mixture_*",
    "dataset_type", "messages_field", "input_role", "output_role", "stop_strategy", "model_name_or_path");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"model.type", "no supported family of models has this structure", other_model, true,
     "gemma* olmo* whisper backpack gpt2_hyena hyena mpt mini"},
    {"model.hybrid_norm", "no supported family of models has such norms", other_model, true},
    // Names of main/eval_lm.py, main/eval_sliding_lm.py and main/export_lm_to_hf.py.
    {"checkpoint_path", "a checkpoint is read without training", "pass the configuration of the training instead"},
    {"hf_checkpoint", "a checkpoint is read without training", "pass the configuration of the training instead"},
    {"use_hf_model_config", "the sizes of the model are not in this file", other_model, true},
    {"lora.*", "arguments about adapters are not read", "name the model with its adapters: --model NAME@lora=16", true},
    {"peft_save_path", "arguments about adapters are not read", "name the model with its adapters: --model NAME@lora=16",
     true},
});

}  // namespace levanter_tables

const ConfigurationFormat levanter_yaml{
    .name = "Levanter",
    .software = "jax",
    .language = ConfigurationLanguage::yaml,
    .rows = levanter_tables::rows,
    .usual = levanter_tables::usual,
    .not_modeled = levanter_tables::not_modeled,
    .missing = {},
    .marks = levanter_tables::marks,
    .programs = levanter_tables::programs,
    .harmless = levanter_tables::harmless,
    .refused = levanter_tables::refused,
};

}  // namespace ddl
