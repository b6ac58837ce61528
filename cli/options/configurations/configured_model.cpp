#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/mixture_layers.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "cli/options/configurations/tokenizer_vocabulary.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/words.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/unknown_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_configured_layers = 10'000;
/// Number of tokens in the vocabulary of BERT without upper case [Devlin et al. 2019].
constexpr std::int64_t bert_vocabulary = 30'522;

bool is_bundled(const std::string& name) {
  const std::vector<std::string> names = model_names();
  return contains(names, name);
}

/// Converts the model arguments of a configuration to the parameters of a model family.
class SizedModel {
 public:
  explicit SizedModel(const Configuration& configuration) : read_(configuration) {}

  std::string name() {
    if (!read_.says(ConfigField::layers) && !read_.says(ConfigField::hidden) && !read_.says(ConfigField::heads)) {
      throw Error(fmt::format("{} does not name the trained model", quote(read_.file)),
                  read_.hint_with_skipped("name the model with --model, such as --model llama3-8b"));
    }
    layers_ = size(ConfigField::layers, "the number of layers");
    hidden_ = size(ConfigField::hidden, "the hidden size");
    heads_ = size(ConfigField::heads, "the number of attention heads");
    const bool is_latent = read_.word(ConfigField::latent) == "yes";
    if (hidden_ % heads_ != 0 && !read_.says(ConfigField::head_size) && !is_latent) {
      read_.fail({ConfigField::heads, ConfigField::hidden},
                 fmt::format("a hidden size of {} is not divisible by {} heads", hidden_, heads_),
                 "the hidden size must be a multiple of the number of heads, unless the head size is given");
    }
    head_size_ = number(ConfigField::head_size).value_or(hidden_ / heads_);
    kv_heads_ = kv_heads();
    if (read_.word(ConfigField::family) == "bert") return gpt_or_bert(true);
    const std::string activation = read_.word(ConfigField::activation);
    gated_ = read_.word(ConfigField::gated) == "yes" || activation == "swiglu" || activation == "geglu";
    has_bias_ = read_.word(ConfigField::bias) != "no";
    read_mixture(is_latent);
    const std::string norm = read_.word(ConfigField::norm), position = read_.word(ConfigField::position);
    const bool is_usual = gated_ && norm == "rms" && position == "rope" && activation != "geglu";
    if (is_latent && is_usual && !has_bias_) return deepseek();
    if (is_latent)
      read_.fail({ConfigField::latent}, "latent attention is supported with gated MLPs, RMSNorm, rope and no biases",
                 model_hint);
    if (is_usual && shared_ == 0 && !has_dense_) return llama();
    if (experts_ > 1 && position == "alibi")
      read_.fail({ConfigField::experts, ConfigField::position}, "no family of models has experts and positions 'alibi'",
                 model_hint);
    const bool is_mpt = read_.format == &llm_foundry_yaml && !gated_ && kv_heads_ == heads_ && experts_ == 1;
    if (is_mpt && (position == "alibi" || (position == "learned" && !has_bias_))) return mpt(position == "alibi");
    if (position != "alibi" && experts_ > 1) return decoder();
    if (!gated_ && norm == "layer" && position == "learned" && has_bias_ && kv_heads_ == heads_ && activation != "relu2")
      return gpt_or_bert(false);
    if (!gated_ && norm == "layer" && position == "alibi" && has_bias_ && kv_heads_ == heads_) return bloom();
    if (!gated_ && norm == "layer" && position == "rope" && activation == "relu2") return nemotron();
    if (!gated_ && norm == "layer" && position == "rope" && kv_heads_ == heads_ && activation != "relu2") return gpt_neox();
    if (position != "alibi") return decoder();
    read_.fail({ConfigField::gated, ConfigField::norm, ConfigField::position, ConfigField::activation, ConfigField::kv_heads,
                ConfigField::layers},
               fmt::format("no family of models has {}, norms '{}', positions '{}'{}{} together",
                           gated_ ? "gated MLPs" : "ungated MLPs", norm, position,
                           kv_heads_ != heads_ ? ", grouped queries" : "", has_bias_ ? "" : ", no biases"),
               model_hint);
  }

 private:
  static constexpr const char* model_hint = "name the nearest model with --model, or a model file of your own";

  [[nodiscard]] std::optional<std::int64_t> number(RunField field) const { return read_.number(field, 1, most_configured); }
  [[nodiscard]] std::int64_t size(RunField field, const char* what) const {
    const auto value = read_.number(field, 1, field == ConfigField::layers ? most_configured_layers : std::int64_t{1} << 24);
    if (!value) {
      read_.fail({}, fmt::format("{} is not given", what),
                 "name the model with --model, such as --model llama3-8b, or add its sizes to the file");
    }
    return *value;
  }

  /// Reads which layers have experts, and the expert that all tokens share.
  void read_mixture(bool is_latent) {
    experts_ = number(ConfigField::experts).value_or(1);
    if (experts_ == 1) return;
    const auto shared = read_.number(ConfigField::shared_experts, 0, most_configured);
    shared_ = read_.number(ConfigField::shared_width, 0, most_configured).value_or(0);
    if (shared) {
      const std::int64_t usual = number(ConfigField::feed_forward).value_or(hidden_ * 4);
      const std::int64_t width = number(ConfigField::expert_feed_forward).value_or(usual);
      if (*shared > most_configured / width)
        read_.fail({ConfigField::shared_experts}, fmt::format("{} shared experts of width {} are too wide", *shared, width),
                   "count the experts that all tokens share, usually one or two");
      shared_ = *shared * width;
    }
    const std::int64_t first = read_.number(ConfigField::dense_layers, -1, layers_).value_or(0);
    with_experts_.assign(static_cast<std::size_t>(layers_), true);
    const Fact* const said = read_.find(ConfigField::expert_layers);
    // All layers of a mixture with shared experts may have experts, but most have some without, so the value is needed.
    const bool is_needed = is_latent || shared_ > 0;
    if (said != nullptr && (is_needed || !said->from || said->from->is_known)) {
      const auto listed = layers_with_experts(read_.word(ConfigField::expert_layers), layers_);
      if (!listed)
        read_.fail({ConfigField::expert_layers}, fmt::format("{} is no list of {} layers", quote(said->value), layers_),
                   "use 0 for a layer without experts and 1 for a layer with experts: [0]*3+[1]*58");
      with_experts_ = *listed;
    }
    for (std::int64_t i = 0; i < first; ++i) with_experts_[static_cast<std::size_t>(i)] = false;
    has_dense_ = contains(with_experts_, false);
  }

  /// Returns a decoder with latent attention, in which only the first layers may have no experts.
  std::string deepseek() {
    begin("deepseek");
    const bool has_experts = experts_ > 1;
    const auto first = std::ranges::find(with_experts_, true);
    if (std::find(first, with_experts_.end(), false) != with_experts_.end())
      read_.fail({ConfigField::expert_layers}, "with latent attention, only the first layers can be without experts",
                 model_hint);
    const std::int64_t wide = feed_forward(hidden_ * 8 / 3 / 64 * 64);
    const std::int64_t expert = number(ConfigField::expert_feed_forward).value_or(wide);
    if (shared_ % expert != 0)
      read_.fail({ConfigField::shared_width, ConfigField::shared_experts},
                 fmt::format("the shared width {} is no multiple of the width {} of an expert", shared_, expert),
                 model_hint);
    add("dense_layers", has_experts ? static_cast<std::int64_t>(first - with_experts_.begin()) : layers_);
    add_unless("query_rank", number(ConfigField::query_rank).value_or(0), 0);
    // The defaults are those of MLATransformerConfig [megatron/core/transformer/transformer_config.py].
    add("kv_rank", number(ConfigField::kv_rank).value_or(512));
    add_unless("key_size", number(ConfigField::key_size).value_or(128), 128);
    add_unless("rotary_size", number(ConfigField::rotary_size).value_or(64), 64);
    add_unless("value_size", number(ConfigField::value_size).value_or(128), 128);
    add("dense_feed_forward", wide);
    // The family needs values of experts that no layer has.
    add("feed_forward", has_experts ? expert : 1);
    add("experts", has_experts ? experts_ : 2);
    add("active", has_experts ? number(ConfigField::active_experts).value_or(2) : 1);
    add("shared", has_experts ? shared_ / expert : 0);
    if (has_experts) add_router();
    add_unless("predicted", read_.number(ConfigField::predicted, 0, 64).value_or(0), 0);
    add_flag("fused", is_fused(), true);
    add_if_any("dropout", dropout(ConfigField::attention_dropout));
    add_flag("tied", is_tied(), false);
    return text_;
  }

  void add_router() {
    if (read_.word(ConfigField::scores) == "sigmoid") add("scores", "sigmoid");
    add_flag("correction", read_.word(ConfigField::routing_bias) == "yes", false);
    const std::int64_t groups = number(ConfigField::expert_groups).value_or(1);
    add_unless("groups", groups, 1);
    add_unless("active_groups", number(ConfigField::active_groups).value_or(groups), groups);
  }

  [[nodiscard]] std::int64_t kv_heads() const {
    const auto groups = number(ConfigField::kv_heads);
    if (!groups) return heads_;
    // Megatron-LM ignores the number of query groups without --group-query-attention.
    const bool counts = read_.format != &megatron_arguments || read_.word(ConfigField::grouped_queries) == "yes";
    if (!counts) return heads_;
    if (heads_ % *groups != 0) {
      read_.fail({ConfigField::kv_heads}, fmt::format("{} heads are not divisible by {} query groups", heads_, *groups),
                 "the number of heads must be a multiple of the number of query groups");
    }
    return *groups;
  }

  /// Returns the vocabulary size, padded as the tool pads it.
  [[nodiscard]] std::int64_t vocabulary() const {
    std::int64_t tokens = number(ConfigField::vocabulary).value_or(0);
    if (tokens > 0 && known_value(read_, ConfigField::tokenizer_kind) == null_tokenizer) ++tokens;
    if (tokens == 0)
      tokens = read_.says(ConfigField::family) ? bert_vocabulary : tokenizer_vocabulary(read_).value_or(gpt2_vocabulary);
    const std::int64_t multiple =
        number(ConfigField::vocabulary_multiple).value_or(1) * read_.number(ConfigField::tensor, 1, 1 << 20).value_or(1);
    const std::int64_t step = std::min<std::int64_t>(multiple, 1 << 24);
    return (tokens + step - 1) / step * step;
  }

  [[nodiscard]] bool is_fused() const {
    const std::string attention = read_.word(ConfigField::attention);
    return attention.empty() ? read_.word(ConfigField::implementation) != "unfused" : attention != "unfused";
  }

  [[nodiscard]] std::string dropout(RunField field) const { return read_.dropout_rate(field); }

  /// Number of channels of a head that rotary positions rotate.
  [[nodiscard]] std::int64_t turned() const {
    const std::string text = read_.word(ConfigField::rotary_percent);
    if (text.empty()) return head_size_;
    char* end = nullptr;
    const double share = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !(share > 0 && share <= 1))
      read_.fail({ConfigField::rotary_percent}, fmt::format("{} is not a fraction of a head", quote(text)),
                 "use a number up to 1");
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(share * static_cast<double>(head_size_))), 1);
  }

  void add(std::string_view parameter, const std::string& value) { text_ += fmt::format("@{}={}", parameter, value); }
  void add(std::string_view parameter, std::int64_t value) { add(parameter, fmt::format("{}", value)); }
  void add_unless(std::string_view parameter, std::int64_t value, std::int64_t usual) {
    if (value != usual) add(parameter, value);
  }
  void add_flag(std::string_view parameter, bool value, bool usual) {
    if (value != usual) add(parameter, value ? "yes" : "no");
  }
  void begin(std::string_view family) {
    text_ = family;
    add("layers", layers_);
    add("hidden", hidden_);
    add("heads", heads_);
    add("vocabulary", vocabulary());
  }
  [[nodiscard]] bool is_tied() const { return read_.word(ConfigField::tied) == "yes"; }
  [[nodiscard]] std::int64_t feed_forward(std::int64_t usual) const {
    const auto said = number(ConfigField::feed_forward);
    const bool is_said = said || read_.says(ConfigField::feed_forward_multiple);
    if (!is_said && read_.word(ConfigField::feed_forward_ratio).empty()) return usual;
    const std::int64_t width = said ? *said : hidden_ * ratio();
    if (read_.says(ConfigField::feed_forward_multiple)) return rounded_up(width);
    const bool is_both = gated_ && read_.word(ConfigField::feed_forward_halves) == "yes";
    return std::max<std::int64_t>(is_both ? width / 2 : width, 1);
  }
  /// Returns the width of an MLP of GPT-NeoX. A gated MLP has two thirds of the width for gate and value together
  /// [EleutherAI/gpt-neox, megatron/model/transformer.py, ParallelMLP].
  [[nodiscard]] std::int64_t rounded_up(std::int64_t width) const {
    const std::int64_t multiple = read_.number(ConfigField::feed_forward_multiple, 1, 1 << 20).value_or(1);
    if (gated_) width = width * 2 / 3 / 2;
    return (std::max<std::int64_t>(width, 1) + multiple - 1) / multiple * multiple;
  }
  [[nodiscard]] std::int64_t ratio() const { return read_.number(ConfigField::feed_forward_ratio, 1, 1024).value_or(4); }

  /// Returns a model with trained positions: GPT-2, or BERT with its heads for pretraining.
  std::string gpt_or_bert(bool is_bert) {
    begin(is_bert ? "bert" : "gpt");
    if (is_bert) add("head", "pretraining");
    const auto positions = number(ConfigField::positions), tokens = number(ConfigField::sequence);
    if (positions && tokens && *positions != *tokens) add("positions", *positions);
    add_unless("feed_forward", feed_forward(hidden_ * 4), hidden_ * 4);
    add_flag("fused", is_fused(), is_bert);
    const std::string hidden = dropout(ConfigField::hidden_dropout), attention = dropout(ConfigField::attention_dropout);
    if (hidden != "0.1") add("dropout", hidden);
    if (attention != hidden) add("attention_dropout", attention);
    if (!is_bert) add_flag("tied", is_tied(), true);
    return text_;
  }

  std::string mpt(bool has_alibi) {
    begin("mpt");
    add("alibi", has_alibi ? "yes" : "no");
    add_unless("feed_forward", feed_forward(hidden_ * 4), hidden_ * 4);
    add_flag("fused", is_fused(), true);
    add_if_any("dropout", dropout(ConfigField::hidden_dropout));
    add_if_any("attention_dropout", dropout(ConfigField::attention_dropout));
    add_flag("tied", is_tied(), true);
    return text_;
  }

  std::string bloom() {
    begin("bloom");
    add_flag("fused", is_fused(), false);
    add_if_any("dropout", dropout(ConfigField::hidden_dropout));
    add_if_any("attention_dropout", dropout(ConfigField::attention_dropout));
    add_flag("tied", is_tied(), true);
    return text_;
  }

  std::string gpt_neox() {
    begin("gpt-neox");
    add("turned", turned());
    add("parallel", read_.word(ConfigField::parallel) == "yes" ? "yes" : "no");
    add_unless("feed_forward", feed_forward(hidden_ * 4), hidden_ * 4);
    add_flag("fused", is_fused(), true);
    add_flag("attention_bias", has_bias_, true);
    add_if_any("dropout", dropout(ConfigField::hidden_dropout));
    add_if_any("attention_dropout", dropout(ConfigField::attention_dropout));
    add_flag("tied", is_tied(), false);
    return text_;
  }

  std::string nemotron() {
    begin("nemotron");
    add_unless("kv_heads", kv_heads_, heads_);
    add_unless("head_size", head_size_, hidden_ / heads_);
    add_unless("turned", turned(), head_size_ / 2);
    add_unless("feed_forward", feed_forward(hidden_ * 4), hidden_ * 4);
    add_flag("fused", is_fused(), true);
    add_flag("attention_bias", has_bias_, false);
    add_flag("feed_forward_bias", has_bias_, false);
    add_if_any("dropout", dropout(ConfigField::attention_dropout));
    add_flag("tied", is_tied(), false);
    return text_;
  }

  /// Returns a decoder with a combination of parts that no family above has, such as multi-query attention and trained
  /// positions.
  std::string decoder() {
    const bool has_experts = experts_ > 1;
    const std::string position = read_.word(ConfigField::position), activation = read_.word(ConfigField::activation);
    const char dense = position == "none" ? 'N' : 'F', mixture = position == "none" ? 'n' : 'f';
    const std::vector<bool> layers = has_experts ? with_experts_ : std::vector<bool>(static_cast<std::size_t>(layers_));
    text_ = "decoder@pattern=" + pattern_of_layers(layers, dense, mixture);
    add("hidden", hidden_);
    add("heads", heads_);
    add_unless("kv_heads", kv_heads_, heads_);
    add_unless("head_size", head_size_, hidden_ / heads_);
    add("vocabulary", vocabulary());
    const std::int64_t wide = feed_forward(gated_ ? hidden_ * 8 / 3 / 64 * 64 : hidden_ * 4);
    add("feed_forward", wide);
    if (has_experts) {
      add("experts", experts_);
      add("active", number(ConfigField::active_experts).value_or(2));
      add("expert_feed_forward", number(ConfigField::expert_feed_forward).value_or(wide));
      add_unless("shared_feed_forward", shared_, 0);
      add_flag("shared_gate", shared_ > 0 && read_.word(ConfigField::shared_gate) == "yes", false);
      add_router();
    }
    if (position == "learned") {
      const auto positions = number(ConfigField::positions), tokens = number(ConfigField::sequence);
      if (!positions && !tokens)
        read_.fail({ConfigField::position}, "the number of trained positions is not set", model_hint);
      add("positions", positions ? *positions : *tokens);
      add("turned", 0);
    } else if (position == "rope") {
      add_unless("turned", turned(), head_size_);
    }
    if (read_.word(ConfigField::norm) == "layer") {
      add("norm", "layer");
      add("norm_bias", "yes");
    }
    add_flag("gated", gated_, true);
    add("activation", activation == "relu2" ? "relu2" : gated_ && activation != "geglu" ? "silu" : "gelu");
    add_flag("parallel", read_.word(ConfigField::parallel) == "yes", false);
    if (read_.word(ConfigField::query_key_norm) == "yes") add("query_key_norm", "head");
    add_flag("qkv_bias", has_bias_ || read_.word(ConfigField::qkv_bias) == "yes", false);
    add_flag("projection_bias", has_bias_, false);
    add_flag("feed_forward_bias", has_bias_, false);
    add("fused", is_fused() ? "yes" : "no");
    const std::string hidden = dropout(ConfigField::hidden_dropout);
    add_if_any("dropout", dropout(ConfigField::attention_dropout));
    add_if_any("embedding_dropout", hidden);
    add_if_any("residual_dropout", hidden);
    add_flag("tied", is_tied(), false);
    return text_;
  }

  std::string llama() {
    begin("llama");
    // With this width, a gated MLP has as many weights as an ungated MLP of width 4 × hidden. Tools
    // round the width to a multiple of 64.
    const std::int64_t usual = hidden_ * 8 / 3 / 64 * 64;
    const bool has_experts = experts_ > 1;
    const std::int64_t wide = feed_forward(usual);
    add("feed_forward", has_experts ? number(ConfigField::expert_feed_forward).value_or(wide) : wide);
    add_unless("kv_heads", kv_heads_, heads_);
    add_unless("head_size", head_size_, hidden_ / heads_);
    if (has_experts) {
      add("experts", experts_);
      add("active", number(ConfigField::active_experts).value_or(2));
    }
    add_unless("turned", turned(), head_size_);
    add_flag("query_key_norm", read_.word(ConfigField::query_key_norm) == "yes", false);
    add_flag("fused", is_fused(), true);
    add_if_any("dropout", dropout(ConfigField::attention_dropout));
    add_flag("attention_bias", has_bias_, false);
    add_flag("qkv_bias", has_bias_ || read_.word(ConfigField::qkv_bias) == "yes", has_bias_);
    add_flag("feed_forward_bias", has_bias_, false);
    add_flag("tied", is_tied(), false);
    return text_;
  }

  void add_if_any(std::string_view parameter, const std::string& rate) {
    if (rate != "0") add(parameter, rate);
  }

  const Configuration& read_;
  std::int64_t layers_ = 0, hidden_ = 0, heads_ = 0, head_size_ = 0, kv_heads_ = 0;
  std::int64_t experts_ = 1, shared_ = 0;  ///< `shared_`: width of the expert that all tokens share; 0: there is none
  std::vector<bool> with_experts_{};       ///< whether each layer of a mixture has experts
  bool gated_ = false, has_bias_ = true;
  bool has_dense_ = false;  ///< whether a layer of a mixture has no experts
  std::string text_;
};

}  // namespace

namespace {

/// Returns the part of a path that names the model: the last part, or NAME in the cache of Hugging Face's hub, whose folders
/// are `models--OWNER--NAME/snapshots/REVISION` [huggingface/huggingface_hub, file_download.py, repo_folder_name].
std::string_view naming_part(std::string_view path) {
  constexpr std::string_view cached = "models--", gap = "--";
  const std::size_t start = path.rfind(cached);
  if (start == std::string_view::npos || (start > 0 && path[start - 1] != '/')) return last_step(path);
  path.remove_prefix(start + cached.size());
  const std::string_view folder = path.substr(0, path.find('/'));
  const std::size_t end_of_owner = folder.find(gap);
  return end_of_owner == std::string_view::npos ? folder : folder.substr(end_of_owner + gap.size());
}

}  // namespace

std::optional<std::string> bundled_model_named(std::string_view name) {
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  std::string known = canonical_model_name(naming_part(name));
  if (is_bundled(known)) return known;
  return std::nullopt;
}

namespace {

/// Adds the sizes with which a file changes the model that it names. Throws Error if the model has no such size.
std::string resized(const Configuration& configuration, const std::string& name) {
  if (!configuration.format->resizes_named) return name;
  constexpr std::array sizes{std::pair{ConfigField::layers, "layers"}, std::pair{ConfigField::heads, "heads"},
                             std::pair{ConfigField::kv_heads, "kv_heads"}};
  const Model model = load_model(name);
  std::string text = name;
  for (const auto& [field, parameter] : sizes) {
    const auto said = configuration.number(field, 1, most_configured_layers);
    if (!said) continue;
    const bool has_parameter = std::ranges::any_of(
        model.family_parameters, [&, wanted = parameter](const auto& each) { return each.first == wanted; });
    if (!has_parameter)
      configuration.fail({field}, fmt::format("the sizes of the model {} cannot be changed", quote(name)),
                         "name the model with --model");
    if (model.family_parameter(parameter) != fmt::format("{}", *said)) text += fmt::format("@{}={}", parameter, *said);
  }
  return text;
}

}  // namespace

std::string model_of(const Configuration& configuration) {
  if (!configuration.says(ConfigField::model)) return SizedModel(configuration).name();
  const std::string said = configuration.word(ConfigField::model);
  const std::string flavor = configuration.word(ConfigField::flavor);
  std::string name = configuration.format->model_named == nullptr ? "" : configuration.format->model_named(said, flavor);
  if (name.empty()) name = configuration.says(ConfigField::flavor) ? said + "-" + flavor : said;
  if (const auto known = bundled_model_named(name)) return resized(configuration, *known);
  // The last part of a checkpoint's path is the name of the model.
  const bool is_path = name.starts_with('/') || name.starts_with('.') || std::ranges::count(name, '/') > 1;
  const std::string own = is_path ? std::string(naming_part(name)) : name;
  // A part without a number, as in /path/to/model, is a placeholder for a name.
  const bool is_placeholder = is_path && std::ranges::none_of(own, is_shell_digit);
  const std::string hint = is_placeholder ? "the last part of a path must be the name of a model" : unknown_model_hint(own);
  configuration.fail({configuration.says(ConfigField::flavor) ? ConfigField::flavor : ConfigField::model},
                     fmt::format("there is no bundled model {}", quote(name)),
                     fmt::format("{}{} the model with --model", hint, hint.ends_with('?') ? " Otherwise, name" : "; name"));
}

}  // namespace ddl
