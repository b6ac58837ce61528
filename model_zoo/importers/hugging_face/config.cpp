#include "model_zoo/importers/hugging_face/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t keys_named = 12;
constexpr std::int64_t long_sample = 16384;

constexpr std::string_view config_hint = "give the 'config.json' of a model of Hugging Face's transformers";

/// Keys that do not affect shapes, weights or work: special tokens, constants of formulas, initialization, handling of
/// outputs and files.
constexpr auto silent_keys = std::to_array<std::string_view>({"_name_or_path",
                                                              "architectures",
                                                              "attn_output_multiplier",
                                                              "auto_map",
                                                              "aux_loss_alpha",
                                                              "bos_token_id",
                                                              "cache_implementation",
                                                              "classifier_dropout",
                                                              "cls_token_id",
                                                              "decoder_start_token_id",
                                                              "dtype",
                                                              "embedding_multiplier",
                                                              "embedding_multiplier_scale",
                                                              "encoder_stride",
                                                              "eos_token_id",
                                                              "ep_size",
                                                              "experts_per_token",
                                                              "finetuning_task",
                                                              "forced_bos_token_id",
                                                              "forced_eos_token_id",
                                                              "gradient_checkpointing",
                                                              "id2label",
                                                              "init_device",
                                                              "init_std",
                                                              "initial_context_length",
                                                              "initializer_factor",
                                                              "initializer_range",
                                                              "is_encoder_decoder",
                                                              "label2id",
                                                              "layer_norm_eps",
                                                              "layer_norm_epsilon",
                                                              "layerdrop",
                                                              "logit_scale",
                                                              "mask_token_id",
                                                              "max_attn_value",
                                                              "model_type",
                                                              "norm_eps",
                                                              "norm_topk_prob",
                                                              "num_labels",
                                                              "output_attentions",
                                                              "output_hidden_states",
                                                              "output_multiplier_scale",
                                                              "output_past",
                                                              "output_router_logits",
                                                              "pad_token_id",
                                                              "prefix",
                                                              "pretraining_tp",
                                                              "problem_type",
                                                              "quantization_config",
                                                              "query_pre_attn_scalar",
                                                              "relative_attention_max_distance",
                                                              "reorder_and_upcast_attn",
                                                              "rms_norm_eps",
                                                              "rope_local_base_freq",
                                                              "rope_theta",
                                                              "rotary_emb_base",
                                                              "routed_scaling_factor",
                                                              "router_aux_loss_coef",
                                                              "router_jitter_noise",
                                                              "scale_attn_by_inverse_layer_idx",
                                                              "scale_attn_weights",
                                                              "sep_token_id",
                                                              "seq_aux",
                                                              "summary_activation",
                                                              "summary_first_dropout",
                                                              "summary_proj_to_labels",
                                                              "summary_type",
                                                              "summary_use_proj",
                                                              "swiglu_limit",
                                                              "task_specific_params",
                                                              "tokenizer_class",
                                                              "torch_dtype",
                                                              "transformers_version",
                                                              "unk_token_id",
                                                              "use_bidirectional_attention",
                                                              "use_cache",
                                                              "use_norm_in_generation"});

/// Keys of layers with other weights than those of the families whose readers do not read them.
constexpr auto weight_keys = std::to_array<std::string_view>({"attention_bias",
                                                              "audio_config",
                                                              "decoder_sparse_step",
                                                              "first_k_dense_replace",
                                                              "head_dim",
                                                              "interleave_moe_layer_step",
                                                              "kv_lora_rank",
                                                              "layers_block_type",
                                                              "mamba_num_heads",
                                                              "mlp_bias",
                                                              "mlp_only_layers",
                                                              "moe_intermediate_size",
                                                              "moe_layer_freq",
                                                              "n_routed_experts",
                                                              "n_shared_experts",
                                                              "num_experts",
                                                              "num_kv_heads",
                                                              "num_local_experts",
                                                              "num_nextn_predict_layers",
                                                              "q_lora_rank",
                                                              "qk_layernorm",
                                                              "qk_norm",
                                                              "shared_expert_intermediate_size",
                                                              "ssm_state_size",
                                                              "text_config",
                                                              "use_qk_norm",
                                                              "vision_config"});

/// Null, false, none or zero: a key with this value adds no weights.
bool says_none(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) || (value.is_number() && value.get<double>() == 0) ||
         (value.is_structured() && value.empty());
}

/// The library's names of functions, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> activations{{{"gelu", "gelu"},
                                                                                     {"gelu_10", "gelu"},
                                                                                     {"gelu_accurate", "gelu"},
                                                                                     {"gelu_fast", "gelu"},
                                                                                     {"gelu_new", "gelu"},
                                                                                     {"gelu_python", "gelu"},
                                                                                     {"gelu_pytorch_tanh", "gelu"},
                                                                                     {"hard_swish", "hardswish"},
                                                                                     {"leaky_relu", "leaky_relu"},
                                                                                     {"quick_gelu", "gelu"},
                                                                                     {"relu", "relu"},
                                                                                     {"relu2", "relu2"},
                                                                                     {"relu6", "relu6"},
                                                                                     {"sigmoid", "sigmoid"},
                                                                                     {"silu", "silu"},
                                                                                     {"swish", "silu"},
                                                                                     {"tanh", "tanh"}}};

std::string_view name_of(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "an object";
}

std::string checked_text(std::string text, const std::string& origin) {
  if (text.size() > max_configuration_bytes) {
    throw Error(fmt::format("{}: longer than {} MiB", origin, max_configuration_bytes >> 20U), std::string(config_hint));
  }
  return text;
}

}  // namespace

HuggingFaceConfig::HuggingFaceConfig(std::string text, std::string origin, const ImportOptions& options)
    : source_(checked_text(std::move(text), origin), origin, std::string(config_hint)),
      allow_unknown_(options.allow_unknown) {
  if (!source_.root().is_object()) {
    throw source_.error("", fmt::format("expected an object, found {}", name_of(source_.root())), std::string(config_hint));
  }
}

bool HuggingFaceConfig::has(std::string_view key) const { return source_.root().contains(key); }

bool HuggingFaceConfig::is_null(std::string_view key) const {
  return has(key) && source_.root().at(std::string(key)).is_null();
}

const Json* HuggingFaceConfig::find(Names names, std::string_view& found) {
  const Json* value = nullptr;
  for (const std::string_view name : names) {
    asked_.emplace(name);
    if (value != nullptr) continue;
    const auto entry = source_.root().find(name);
    if (entry == source_.root().end() || entry->is_null()) continue;
    value = &*entry;
    found = name;
  }
  return value;
}

std::int64_t HuggingFaceConfig::whole_number(const Json& value, std::string_view path, std::int64_t low,
                                             std::int64_t high) const {
  const std::string_view key = path.substr(path.find('/') + 1);
  // Some programs write whole numbers with a decimal point.
  const bool pointed = value.is_number_float() && value.get<double>() == std::trunc(value.get<double>());
  if (pointed) {
    const auto real = value.get<double>();
    if (real < static_cast<double>(low)) fail(path, fmt::format("'{}' is too small: at least {}", key, low));
    if (real > static_cast<double>(high)) fail(path, fmt::format("'{}' is too large: at most {}", key, high));
    return static_cast<std::int64_t>(real);
  }
  if (!value.is_number_integer()) {
    fail(path, fmt::format("'{}' is {}, not a whole number", key,
                           value.is_number() ? fmt::to_string(value.get<double>()) : std::string(name_of(value))));
  }
  // A value that exceeds an int64 exceeds every limit.
  const bool huge = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = huge ? std::numeric_limits<std::int64_t>::max() : value.get<std::int64_t>();
  if (number < low) fail(path, fmt::format("'{}' is too small: at least {}", key, low));
  if (number > high) fail(path, fmt::format("'{}' is too large: at most {}", key, high));
  return number;
}

std::int64_t HuggingFaceConfig::integer(Names names, std::int64_t fallback, std::int64_t low, std::int64_t high) {
  std::string_view key;
  const Json* const value = find(names, key);
  return value == nullptr ? fallback : whole_number(*value, key, low, high);
}

void HuggingFaceConfig::note_default(std::string_view key, std::int64_t value) {
  std::string text = fmt::format("{} {}", key, value);
  if (std::find(defaults_.begin(), defaults_.end(), text) == defaults_.end()) defaults_.push_back(std::move(text));
}

std::int64_t HuggingFaceConfig::size(Names names, std::int64_t fallback, std::int64_t high) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value != nullptr) return whole_number(*value, key, 1, high);
  note_default(*names.begin(), fallback);
  return fallback;
}

double HuggingFaceConfig::fraction(Names names, double fallback) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, name_of(*value)));
  const auto number = value->get<double>();
  if (!(number >= 0 && number <= 1)) fail(key, fmt::format("'{}' is not from 0 to 1", key));
  return number;
}

bool HuggingFaceConfig::boolean(std::string_view key, bool fallback) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, fmt::format("'{}' is {}, not true or false", key, name_of(*value)));
  return value->get<bool>();
}

std::optional<bool> HuggingFaceConfig::positive(std::string_view key) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, name_of(*value)));
  return value->get<double>() > 0;
}

std::string HuggingFaceConfig::text(Names names, std::string_view fallback) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) fail(key, fmt::format("'{}' is {}, not text", key, name_of(*value)));
  return value->get<std::string>();
}

const Json* HuggingFaceConfig::find_inner(std::string_view outer, std::string_view key) {
  std::string_view found;
  const Json* const object = find({outer}, found);
  if (object == nullptr) return nullptr;
  if (!object->is_object()) fail(outer, fmt::format("'{}' is {}, not an object", outer, name_of(*object)));
  const auto entry = object->find(key);
  return entry == object->end() || entry->is_null() ? nullptr : &*entry;
}

std::int64_t HuggingFaceConfig::inner_integer(std::string_view outer, std::string_view key) {
  const Json* const value = find_inner(outer, key);
  return value == nullptr ? 0 : whole_number(*value, fmt::format("{}/{}", outer, key), 1, max_attribute);
}

bool HuggingFaceConfig::inner_boolean(std::string_view outer, std::string_view key, bool fallback) {
  const Json* const value = find_inner(outer, key);
  if (value == nullptr) return fallback;
  const std::string path = fmt::format("{}/{}", outer, key);
  if (!value->is_boolean()) fail(path, fmt::format("'{}' is {}, not true or false", key, name_of(*value)));
  return value->get<bool>();
}

std::string HuggingFaceConfig::inner_text(std::string_view outer, std::string_view key, std::string_view fallback) {
  const Json* const value = find_inner(outer, key);
  if (value == nullptr) return std::string(fallback);
  const std::string path = fmt::format("{}/{}", outer, key);
  if (!value->is_string()) fail(path, fmt::format("'{}' is {}, not text", key, name_of(*value)));
  return value->get<std::string>();
}

std::int64_t HuggingFaceConfig::heads(Names names, std::int64_t fallback, std::int64_t whole) {
  const std::int64_t count = size(names, fallback);
  if (whole % count == 0) return count;
  std::string_view key = *names.begin();
  static_cast<void>(find(names, key));
  fail(key, fmt::format("{} channels are not divisible by {} heads", whole, count));
}

std::string HuggingFaceConfig::activation(Names names, std::string_view fallback) {
  std::string_view key = *names.begin();
  static_cast<void>(find(names, key));
  return activation_of(key, text(names, fallback));
}

std::string HuggingFaceConfig::activation_of(std::string_view key, std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& [theirs, ours] : activations) {
    if (theirs == name) return std::string(ours);
    known.push_back(theirs);
  }
  unknown(key, fmt::format("unknown activation {}", quote(name)), suggest(name, known));
  warn(fmt::format("counted as gelu: the activation {}", quote(name)));
  return "gelu";
}

std::string HuggingFaceConfig::head(Architectures known) {
  std::string_view key;
  const Json* const value = find({"architectures"}, key);
  const auto& [first, its_head] = *known.begin();
  if (value == nullptr || (value->is_array() && value->empty())) {
    warn(fmt::format("the file has no architecture: read as {}", first));
    return std::string(its_head);
  }
  if (!value->is_array() || !value->front().is_string()) fail(key, "'architectures' is not a list of names");
  if (value->size() > 1) warn("of several architectures the first was read");
  const std::string name = value->front().get<std::string>();
  std::vector<std::string_view> names;
  for (const auto& [architecture, head] : known) {
    if (architecture == name) return std::string(head);
    names.push_back(architecture);
  }
  unknown(key, fmt::format("unknown architecture {}", quote(name)), suggest(name, names));
  warn(fmt::format("read as {}: the architecture {}", first, quote(name)));
  return std::string(its_head);
}

std::int64_t HuggingFaceConfig::labels() {
  std::string_view key;
  if (const Json* const names = find({"id2label"}, key)) {
    if (!names->is_object() || names->empty()) fail(key, "'id2label' is not an object with a name for each label");
    return static_cast<std::int64_t>(names->size());
  }
  return integer({"num_labels"}, 2);
}

std::string_view HuggingFaceConfig::fused(std::string_view usual) {
  return text({"_attn_implementation", "attn_implementation"}, usual) == "eager" ? "no" : "yes";
}

// Kinds and keys of `rope_scaling`: modeling_rope_utils.py of transformers 4.46, ROPE_VALIDATION_FUNCTIONS. `su` is an older
// name of `longrope`; `mrope` rotates channels by several positions and does not scale the length.
std::int64_t HuggingFaceConfig::unstretched(std::string_view outer, std::int64_t count) {
  const std::int64_t original = inner_integer(outer, "original_max_position_embeddings");
  std::string_view found;
  const Json* const object = find({outer}, found);
  if (object == nullptr) return count;
  const auto path_to = [&](std::string_view key) { return fmt::format("{}/{}", outer, key); };
  std::string kind = "default";
  for (const std::string_view key : {"type", "rope_type"}) {
    const auto said = object->find(key);
    if (said == object->end() || said->is_null()) continue;
    if (!said->is_string()) fail(path_to(key), fmt::format("'{}' is {}, not text", key, name_of(*said)));
    kind = said->get<std::string>();
    static constexpr auto known =
        std::to_array<std::string_view>({"default", "dynamic", "linear", "llama3", "longrope", "mrope", "su", "yarn"});
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      unknown(path_to(key), fmt::format("unknown kind of scaled positions (rope_scaling) {}", quote(kind)),
              suggest(kind, std::span<const std::string_view>(known)));
      warn(fmt::format("read without scaled positions (rope_scaling): the kind {}", quote(kind)));
      return count;
    }
  }
  double factor = 1;
  if (const auto said = object->find("factor"); said != object->end() && !said->is_null()) {
    if (!said->is_number()) fail(path_to("factor"), fmt::format("'factor' is {}, not a number", name_of(*said)));
    factor = said->get<double>();
    if (!(factor >= 1)) fail(path_to("factor"), "'factor' is too small: at least 1");
  }
  for (const auto& [key, value] : object->items()) {
    if (!value.is_object()) continue;
    unknown(path_to(key), fmt::format("'{}' is an object: layers with different positions are not supported", key));
    warn(fmt::format("not read: {} of {}", quote(key), quote(outer)));
  }
  if (original > 0) return std::min(count, original);
  // A linearly scaled model is trained at its full length only after training at the shorter one.
  if (kind != "linear") return count;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count) / factor));
}

std::int64_t HuggingFaceConfig::tokens(Names names, std::int64_t fallback) {
  std::int64_t count = size(names, fallback);
  for (const std::string_view outer : {"rope_scaling", "rope_parameters"}) count = unstretched(outer, count);
  if (count > long_sample) {
    warn(fmt::format("a sample has {} tokens, the model's maximum: set 'tokens' to the training length", count));
  }
  return count;
}

std::int64_t HuggingFaceConfig::windows(std::int64_t layers, std::int64_t fallback) {
  std::string_view key;
  const Json* const types = find({"layer_types"}, key);
  if (types == nullptr) return fallback;
  if (!types->is_array()) fail(key, fmt::format("'{}' is {}, not a list", key, name_of(*types)));
  if (static_cast<std::int64_t>(types->size()) != layers) {
    fail(key, fmt::format("'{}' has {} entries, but there are {} layers", key, types->size(), layers));
  }
  std::vector<bool> has_window;
  for (const Json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      fail(key, fmt::format("'{}' has an entry that is neither full_attention nor sliding_attention", key));
    }
    has_window.push_back(type == "sliding_attention");
  }
  const auto first_whole = std::find(has_window.begin(), has_window.end(), false);
  const auto count = first_whole - has_window.begin();
  for (std::size_t i = 0; i < has_window.size(); ++i) {
    const bool expected = static_cast<std::ptrdiff_t>(i) % (count + 1) != count;
    if (has_window[i] == expected) continue;
    unknown(key, fmt::format("layer {} breaks the order of {} with a window before each without one", i, count));
    warn(fmt::format("read as if {} with a window came before each without one", count));
    break;
  }
  return count;
}

std::optional<std::string> HuggingFaceConfig::pattern(Names names, Kinds kinds) {
  std::string_view key;
  const Json* const types = find(names, key);
  if (types == nullptr) return std::nullopt;
  if (!types->is_array()) fail(key, fmt::format("'{}' is {}, not a list", key, name_of(*types)));
  std::string letters;
  for (const Json& type : *types) {
    const auto* const kind =
        std::find_if(kinds.begin(), kinds.end(), [&type](const auto& entry) { return type == entry.first; });
    if (kind == kinds.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, letter] : kinds) known.push_back(name);
      fail(key, fmt::format("'{}' has an entry that is not one of {}", key, fmt::join(known, ", ")));
    }
    letters += kind->second;
  }
  return letters;
}

void HuggingFaceConfig::require_no_windows() {
  std::string_view key;
  const Json* const types = find({"layer_types"}, key);
  if (types == nullptr || !types->is_array()) return;
  if (std::all_of(types->begin(), types->end(), [](const Json& type) { return type == "full_attention"; })) return;
  unknown(key, "mixtures of layers with and without full attention are not supported");
  warn("read as if all layers had full attention");
}

HuggingFaceConfig::Experts HuggingFaceConfig::experts(Names count, std::int64_t count_fallback, Names active,
                                                      std::int64_t active_fallback) {
  const Experts experts{integer(count, count_fallback, 2), integer(active, active_fallback)};
  if (experts.active > experts.count) {
    std::string_view key = *active.begin();
    static_cast<void>(find(active, key));
    fail(key, fmt::format("of {} experts {} cannot be active", experts.count, experts.active));
  }
  return experts;
}

void HuggingFaceConfig::require_empty(std::string_view key, std::string_view reason) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr || says_none(*value)) return;
  unknown(key, fmt::format("{} is not empty: {}", quote(key), reason));
  warn(fmt::format("read as if {} were empty", quote(key)));
}

void HuggingFaceConfig::require_number(std::string_view key, double expected, std::string_view reason) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, name_of(*value)));
  if (value->get<double>() == expected) return;
  unknown(key, fmt::format("{} is not {}: {}", quote(key), expected, reason));
  warn(fmt::format("read as if {} were {}", quote(key), expected));
}

void HuggingFaceConfig::require(std::string_view key, bool expected, std::string_view reason) {
  if (boolean(key, expected) != expected) {
    unknown(key, fmt::format("'{}: {}' is not known: {}", key, !expected, reason));
    warn(fmt::format("read as if '{}' were {}", key, expected));
  }
}

void HuggingFaceConfig::unknown(std::string_view key, const std::string& message, const std::string& hint) {
  if (!allow_unknown_) fail(key, message, hint);
}

void HuggingFaceConfig::fail(std::string_view key, const std::string& message, const std::string& hint) const {
  throw source_.error(key, message, hint);
}

void HuggingFaceConfig::warn_of_defaults() {
  if (!defaults_.empty()) warn(fmt::format("from the library's defaults: {}", fmt::join(defaults_, ", ")));
}

void HuggingFaceConfig::warn_of_rest() {
  std::vector<std::string> rest;
  std::size_t count = 0;
  for (const auto& [key, value] : source_.root().items()) {
    if (asked_.contains(key) || std::find(silent_keys.begin(), silent_keys.end(), key) != silent_keys.end()) continue;
    if (std::find(weight_keys.begin(), weight_keys.end(), key) != weight_keys.end()) {
      if (says_none(value)) continue;
      unknown(key, fmt::format("{} changes the number of parameters, and models of this type have no such key", quote(key)));
    }
    if (++count <= keys_named) rest.push_back(quote(key));
  }
  if (count == 0) return;
  const std::string others = count > rest.size() ? fmt::format(" and {} more", count - rest.size()) : "";
  warn(fmt::format("not read: {}{}", fmt::join(rest, ", "), others));
}

}  // namespace ddl
