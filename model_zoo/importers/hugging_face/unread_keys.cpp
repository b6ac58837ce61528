#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/importers/hugging_face/config.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t keys_named = 12;

/// Keys that do not affect shapes, weights or work: special tokens, constants of formulas, initialization, generation of
/// text, handling of outputs and files.
constexpr std::string_view silent_keys = R"(
_attn_implementation _attn_implementation_autoset _name_or_path architectures attention_in_multiplier
attention_multiplier attention_out_multiplier attention_softmax_in_fp32 attn_implementation attn_output_multiplier
attn_scale attn_temperature_tuning auto_map aux_loss_alpha aux_loss_coef bad_words_ids begin_suppress_tokens
bos_token_id cache_implementation chunk_size_feed_forward classifier_dropout clip_qkv cls_token_id
cross_attention_hidden_size decoder_start_token_id deterministic_flash_attn diversity_penalty do_sample dtype
early_stopping embedding_fraction embedding_multiplier embedding_multiplier_scale encoder_no_repeat_ngram_size
encoder_stride eod_id eod_token_id eos_token_id ep_size expand experts_per_token exponential_decay_length_penalty
finetuning_task floor_scale forced_bos_token_id forced_eos_token_id global_rope_theta gradient_checkpointing
hidden_dropout id2label image_token_id image_token_index init_device init_std initial_context_length
initializer_cutoff_factor initializer_factor initializer_range input_jitter_noise is_decoder is_encoder_decoder
key_multiplier label2id language_model_only layer_norm_eps layer_norm_epsilon layerdrop length_penalty
lm_head_multiplier local_rope_theta logit_scale logits_scaling mamba_expand mamba_hidden_act mamba_norm_before_gate
mamba_ssm_cache_dtype mamba_ssm_dtype mask_token_id max_attn_value max_length max_new_tokens min_length mlp_multipliers
model_type moe_norm_min moe_router_enable_expert_bias moe_shared_expert_overlap mtp_layers_block_type
mtp_use_dedicated_embeddings no_repeat_ngram_size norm_eps norm_epsilon norm_topk_prob norm_type num_beam_groups
num_beams num_labels num_logits_to_keep num_return_sequences output_attentions output_hidden_states
output_multiplier_scale output_past output_router_logits output_scores pad_token_id pooler_act pooler_output_size prefix
pretraining_tp problem_type pruned_heads qa_dropout qk_head_dim quantization_config query_pre_attn_scalar
relative_attention_max_distance remove_invalid_values reorder_and_upcast_attn repad_logits_with_grad repetition_penalty
rescale_prenorm_residual residual_in_fp32 residual_multiplier return_dict return_dict_in_generate rms_norm_eps
rope_interleave rope_local_base_freq rope_theta rotary_emb_base routed_scaling_factor router_aux_loss_coef
router_jitter_noise scale_attention_softmax_in_fp32 scale_attn_by_inverse_layer_idx scale_attn_weights
scale_decoder_outputs sep_token_id seq_aux seq_classif_dropout slow_but_exact sparse_pred_ignore_index ssm_in_multiplier
ssm_multipliers ssm_out_multiplier summary_activation summary_first_dropout summary_proj_to_labels summary_type
summary_use_proj suppress_tokens swiglu_alpha swiglu_limit task_specific_params temperature tf_legacy_loss
tie_encoder_decoder tie_word_embeddings time_step_floor time_step_limit time_step_max time_step_min time_step_rank
tokenizer_class top_k top_p torch_dtype torchscript transformers_version typical_p unk_token_id unsloth_fixed
unsloth_version use_bfloat16 use_bidirectional_attention use_cache use_flash_attn use_mamba_kernels use_mrope
use_norm_in_generation verbose video_token_id vision_end_token_id vision_start_token_id vision_token_id
z_loss_coefficient
)";

/// Keys that would change the weights. If the reader of a type does not read such a key, the file is refused.
constexpr std::string_view weight_keys = R"(
add_cross_attention altup_num_inputs attention_bias attention_out_bias attn_output_gate audio_config decoder_sparse_step
first_k_dense_replace head_dim hidden_size_per_layer_input interleave_moe_layer_step intermediate_size_mlp kv_lora_rank
laurel_rank layers_block_type linear_num_value_heads lm_head_bias mamba_n_heads mamba_num_heads mlp_bias mlp_only_layers
moe_intermediate_size moe_layer_freq moe_num_experts moe_num_shared_experts n_routed_experts n_shared_experts
num_experts num_kv_heads num_kv_shared_layers num_local_experts num_mtp_modules num_nextn_predict_layers
num_shared_experts q_lora_rank qk_layernorm qk_norm shared_expert_intermediate_size shared_intermediate_size
ssm_state_size text_config use_qk_norm use_qkv_bias vision_config
)";

/// The keys in `weight_keys` that are numbers of experts. A value of 1 changes no weights, because
/// a single expert is an MLP.
constexpr std::string_view expert_counts = "moe_num_experts n_routed_experts num_experts num_local_experts";

/// `keys_of_sizes` contains, for each size, the keys that types use for it. The sizes are: layers, channels, heads, heads of
/// keys, channels inside an MLP, words, tokens, channels of a head. `most_keys`: maximum number of keys of one size.
constexpr std::size_t most_keys = 10;
using Keys = std::array<std::string_view, most_keys>;
constexpr std::array<Keys, 8> keys_of_sizes{
    {{"num_hidden_layers", "num_layers", "n_layer", "n_layers"},
     {"hidden_size", "n_embd", "n_embed", "d_model", "hidden_dim", "model_dim", "dim_model", "dim", "embed_dim"},
     {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"},
     {"num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "num_query_groups", "multi_query_group_num"},
     {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "ffn_embed_dim", "ffn_hidden_dim",
      "mlp_hidden_size", "dim_feedforward", "hidden_dim"},
     {"vocab_size", "n_vocab", "vocabulary_size", "padded_vocab_size"},
     {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length", "max_sequence_length",
      "max_seq_length", "context_length"},
     {"head_dim", "d_kv", "kv_channels", "attention_head_dim", "head_size"}}};

bool is_among(std::string_view word, std::string_view words) {
  for (std::size_t end = 0; end < words.size();) {
    const std::size_t start = std::min(words.find_first_not_of(" \n", end), words.size());
    end = std::min(words.find_first_of(" \n", start), words.size());
    if (words.substr(start, end - start) == word && start < end) return true;
  }
  return false;
}

}  // namespace

void HuggingFaceConfig::note_default(std::string_view key, std::int64_t value) {
  std::string text = fmt::format("{} {}", key, value);
  if (std::find(defaults_.begin(), defaults_.end(), text) == defaults_.end()) defaults_.push_back(std::move(text));
}

void HuggingFaceConfig::note_foreign(Names names, std::int64_t used) {
  for (const Keys& keys : keys_of_sizes) {
    if (std::find(keys.begin(), keys.end(), *names.begin()) == keys.end()) continue;
    for (const std::string_view key : keys) {
      if (key.empty() || std::find(names.begin(), names.end(), key) != names.end()) continue;
      const auto said = root_->find(key);
      if (said == root_->end() || !said->is_number() || said->get<double>() == static_cast<double>(used)) continue;
      foreign_.push_back({.key = std::string(key), .own = std::string(*names.begin()), .used = used});
    }
  }
}

void HuggingFaceConfig::refuse_foreign() {
  for (const auto& [key, own, used] : foreign_) {
    if (asked_.contains(key)) continue;
    unknown(
        key,
        fmt::format("models of this type have no key {}: the library reads {}, which is missing, and would use its default "
                    "{}",
                    quote(key), quote(own), used),
        fmt::format("rename the key to {}, if both mean the same size", quote(own)));
    warn(fmt::format("not read: {}; {} is {}", quote(key), quote(own), used));
    asked_.insert(key);
  }
}

void HuggingFaceConfig::within(std::string_view key, const std::function<void()>& read) {
  static const Json no_keys = Json::object();
  if (has(key) && !is_null(key) && !has_object(key)) fail(key, fmt::format("{} is not an object", quote(key)));
  const Json* const outside = root_;
  const std::string outer_path = path_;
  const std::size_t outer_defaults = defaults_.size();
  asked_.emplace(key);
  std::set<std::string, std::less<>> outer_asked = std::exchange(asked_, {});
  if (has_object(key)) {
    root_ = &outside->at(std::string(key));
    path_ += std::string(key) + '/';
  } else {
    root_ = &no_keys;
  }
  read();
  refuse_foreign();
  foreign_.clear();
  warn_of_rest();
  for (std::size_t i = outer_defaults; i < defaults_.size(); ++i) defaults_[i].insert(0, std::string(key) + '/');
  root_ = outside;
  path_ = outer_path;
  asked_ = std::move(outer_asked);
}

void HuggingFaceConfig::warn_of_predictors(std::string_view parameter) {
  const std::int64_t predicted =
      integer({"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers"}, 0, 0);
  if (predicted == 0) return;
  const bool one = predicted == 1;
  const std::string added =
      parameter.empty() ? std::string() : fmt::format("; '@{}={}' adds {}", parameter, predicted, one ? "it" : "them");
  warn(fmt::format("not read: 'num_nextn_predict_layers': the library leaves out {} that {} further tokens{}",
                   one ? "the layer" : "the layers", one ? "predicts" : "predict", added));
}

void HuggingFaceConfig::warn_of_defaults() {
  refuse_foreign();
  if (!defaults_.empty()) warn(fmt::format("from the library's defaults: {}", fmt::join(defaults_, ", ")));
}

void HuggingFaceConfig::warn_of_rest() {
  std::vector<std::string> rest;
  std::size_t count = 0;
  for (const auto& [key, value] : root_->items()) {
    if (asked_.contains(key) || is_among(key, silent_keys)) continue;
    if (value.is_null()) continue;
    if (is_among(key, weight_keys)) {
      if (says_none(value) || (is_among(key, expert_counts) && value == 1)) continue;
      unknown(key, fmt::format("{} changes the number of parameters, and models of this type have no such key", quote(key)));
    }
    if (++count <= keys_named) rest.push_back(quote(key));
  }
  if (count == 0) return;
  const std::string others = count > rest.size() ? fmt::format(" and {} more", count - rest.size()) : "";
  warn(fmt::format("not read: {}{}", fmt::join(rest, ", "), others));
}

}  // namespace ddl
