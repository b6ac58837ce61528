#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace maxtext_tables {

// Sources of names and defaults: AI-Hypercomputer/maxtext, src/maxtext/configs/base.yml, configs/types.py and
// trainers/pre_train; layers/decoders.py for the policies of recomputation.
constexpr auto names = argument_words("default=", "*=*");
constexpr auto slices = argument_words("-1=", "*=*");
constexpr auto precisions = argument_words("bfloat16=bf16", "float32=fp32", "float16=fp16");
constexpr auto gates = argument_words("silu linear=yes", "gelu=no", "relu=no");
constexpr auto quantized = argument_words("fp8=yes", "fp8_full=yes", "nanoo_fp8=yes", "te_fp8_delayedscaling=yes",
                                          "te_fp8_currentscaling=yes", "te_mxfp8=yes");
// `minimal` keeps all matrix products, but not the output of attention. Its other forms keep this output, too.
// The policies `save_…` keep some products by name, and recompute all other layers of a block. The smallest of them keeps
// one product.
constexpr auto policies =
    argument_words("full=full", "minimal=selective", "minimal_with_context=none", "minimal_flash=none",
                   "save_dot_with_context_except_mlp=selective", "save_dot_except_mlp=selective", "save_qkv_proj=selective",
                   "save_out_proj=full", "qkv_proj_offloaded=selective", "minimal_offloaded=selective", "custom=full");
constexpr auto recomputed =
    argument_words("save_dot_with_context_except_mlp=layernorm mlp", "save_dot_except_mlp=core_attn layernorm mlp",
                   "save_qkv_proj=core_attn layernorm mlp", "qkv_proj_offloaded=core_attn layernorm mlp", "*=");
constexpr auto moved = argument_words("qkv_proj_offloaded=yes", "minimal_offloaded=yes", "*=");
// The policy `custom` gives each tensor a place [src/MaxText/configs/base.yml, decoder_layer_input, query_proj].
constexpr auto moved_tensor = argument_words("offload=yes", "device=", "remat=");
constexpr auto kept_tensor = argument_words("offload=selective", "device=selective", "remat=");
constexpr auto kept_products = argument_words("offload=core_attn layernorm mlp", "device=core_attn layernorm mlp", "remat=");
constexpr auto attentions = argument_words("autoselected=fused", "flash=fused", "cudnn_flash_te=fused",
                                           "cudnn_flash_jax=fused", "dot_product=unfused");
constexpr auto optimizers = argument_words("adamw=adamw", "adam_pax=adam", "sgd=sgd", "muon=muon");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model_name", ConfigField::model, "", names},
    {"base_num_decoder_layers", ConfigField::layers},
    {"base_emb_dim", ConfigField::hidden},
    {"base_num_query_heads", ConfigField::heads},
    {"base_num_kv_heads", ConfigField::kv_heads},
    {"head_dim", ConfigField::head_size},
    {"base_mlp_dim", ConfigField::feed_forward},
    {"vocab_size", ConfigField::vocabulary},
    {"num_experts", ConfigField::experts},
    only_read({"use_random_routing", ConfigField::routing_forced, "", common::flags}),
    only_read({"routed_bias", ConfigField::routing_bias, "", common::flags}),
    only_read({"capacity_factor", ConfigField::capacity_factor}),
    {"num_experts_per_tok", ConfigField::active_experts},
    {"base_moe_mlp_dim", ConfigField::expert_feed_forward},
    {"mlp_activations", ConfigField::gated, "", gates},
    {"use_qk_norm", ConfigField::query_key_norm, "", common::flags},
    {"attention_bias", ConfigField::qkv_bias, "", common::flags},
    {"logits_via_embedding", ConfigField::tied, "", common::flags},
    {"attention", ConfigField::attention, "", attentions},
    {"dtype", ConfigField::precision, "", precisions},
    {"quantization", ConfigField::fp8, "", quantized},
    {"max_target_length", ConfigField::sequence},
    {"per_device_batch_size", ConfigField::device_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"ici_data_parallelism", ConfigField::data_replicate},
    {"ici_fsdp_parallelism", ConfigField::data_shard},
    {"ici_tensor_parallelism", ConfigField::tensor},
    {"ici_context_parallelism", ConfigField::context},
    {"ici_expert_parallelism", ConfigField::expert},
    {"num_slices", ConfigField::nodes, "", slices},
    weak({"remat_policy", PlanChoice::recompute, "", policies}),
    only_read(weak({"remat_policy", PlanChoice::recompute_modules, "", recomputed})),
    only_read(weak({"remat_policy", PlanChoice::offload_activations, "", moved})),
    only_read({"query_proj", PlanChoice::recompute, "", kept_tensor}),
    only_read({"query_proj", PlanChoice::recompute_modules, "", kept_products}),
    only_read({"query_proj", PlanChoice::offload_activations, "", moved_tensor}),
    only_read({"decoder_layer_input", PlanChoice::offload_activations, "", moved_tensor}),
    {"optimizer_memory_host_offload", PlanChoice::offload, "", common::state_offloads},
    {"parameter_memory_host_offload", ConfigField::offload_weights, "", common::flags},
    {"opt_type", ConfigField::optimizer, "", optimizers},
});

// The data axis takes the devices that the other axes leave. All activations are sharded by tokens in a tensor group.
constexpr auto usual = std::to_array<UsualValue>(
    {{ConfigField::layers, "16"},          {ConfigField::hidden, "2048"},   {ConfigField::heads, "16"},
     {ConfigField::kv_heads, "16"},        {ConfigField::head_size, "128"}, {ConfigField::feed_forward, "7168"},
     {ConfigField::vocabulary, "32000"},   {ConfigField::gated, "yes"},     {ConfigField::norm, "rms"},
     {ConfigField::position, "rope"},      {ConfigField::bias, "no"},       {ConfigField::tied, "no"},
     {ConfigField::padded_experts, "yes"}, {ConfigField::sequence, "2048"}, {ConfigField::device_batch, "12"},
     {ConfigField::data_replicate, "-1"},  {ConfigField::data_shard, "-1"}, {ConfigField::precision, "bf16"},
     {ConfigField::optimizer, "adamw"},    {PlanChoice::zero, "3"},         {PlanChoice::sequence_parallel, "yes"},
     {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("sliding_window_size", "num_vocab_tiling", "fused_qkv", "fused_mlp",
                                            "use_ring_of_experts", "shard_exp_on_fsdp", "mtp_num_layers",
                                            "per_device_batch_size_start", "custom_mesh", "custom_mesh_and_rule");

constexpr auto marks =
    argument_names("remat_policy", "ici_fsdp_parallelism", "ici_tensor_parallelism", "ici_data_parallelism",
                   "ici_context_parallelism", "ici_expert_parallelism", "ici_pipeline_parallelism", "base_emb_dim",
                   "base_num_decoder_layers", "max_segments_per_seq", "use_iota_embed");
constexpr auto programs = argument_names("MaxText.train", "MaxText/train.py", "*/MaxText/train.py", "maxtext.train",
                                         "maxtext.trainers.pre_train.train", "*/trainers/pre_train/train.py");

// A file may contain all keys of base.yml, so only keys above are listed.
constexpr auto harmless = argument_names("*");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto name_trained = "pass the configuration of the training instead";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"base_config", "text is generated", name_trained, false, "*inference*"},
    {"base_config", "the training is not pre-training", name_trained, false, "*rl.yml *grpo* *dpo* *distillation*"},
    {"diffusion_scheduler_config*", "a diffusion model is trained",
     "set model and plan by options: recommend sdxl --gpus N --batch N"},  // AI-Hypercomputer/maxdiffusion, configs
    {"override_model_config", "the file changes the sizes of the model that it names", other_model, true},
    {"global_parameter_scale", "the sizes of the model follow from other numbers", other_model, true, "", "1"},
    {"decoder_block", "no supported family of models has such blocks", other_model, true,
     "gemma* gpt* deepseek* llama4 qwen3_next qwen3_5* qwen3_custom_moe olmo* simple* kimi* envy* default"},
    {"shared_experts", "no supported family of models has shared experts", other_model, true},
    {"first_num_dense_layers", "only some blocks have experts", other_model, true},
    {"attention_type", "no supported family of models has such attention", other_model, true, "mla local_sliding chunk"},
    {"use_multimodal", "a vision model is trained as well", other_model, true},
    {"ici_pipeline_parallelism", "circular pipelines are not predicted",
     "set the plan by options: --strategy, --degrees and --schedule", false, "", "1"},
    {"ici_diloco_parallelism", "replicas exchange weights only after many steps", "set the key to 1", false, "", "1"},
    {"ici_autoregressive_parallelism", "text is generated", name_trained, false, "", "1"},
});

}  // namespace maxtext_tables

const ConfigurationFormat maxtext_overrides{
    .name = "MaxText",
    .software = "jax",
    .language = ConfigurationLanguage::script,
    .rows = maxtext_tables::rows,
    .usual = maxtext_tables::usual,
    .not_modeled = maxtext_tables::not_modeled,
    .missing = {},
    .marks = maxtext_tables::marks,
    .programs = maxtext_tables::programs,
    .harmless = maxtext_tables::harmless,
    .refused = maxtext_tables::refused,
    .also = ConfigurationLanguage::yaml,
    .any_axis_takes_rest = true,
    .defaults_file = "base.yml",
};

}  // namespace ddl
