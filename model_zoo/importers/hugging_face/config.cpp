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

constexpr std::string_view config_hint = "pass the 'config.json' of a model of Hugging Face's transformers";

/// The library's names of activation functions, each with the name in model files of this program.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> activations{{{"gelu", "gelu"},
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
                                                                                     {"tanh", "tanh"},
                                                                                     {"xielu", "xielu"}}};

std::string checked_text(std::string text, const std::string& origin) {
  if (text.size() > max_configuration_bytes) {
    throw Error(fmt::format("{}: longer than {} MiB", origin, max_configuration_bytes >> 20U), std::string(config_hint));
  }
  return text;
}

}  // namespace

std::string_view json_kind(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "an object";
}

bool says_none(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) || (value.is_number() && value.get<double>() == 0) ||
         (value.is_structured() && value.empty());
}

HuggingFaceConfig::HuggingFaceConfig(std::string text, const std::string& origin, const ImportOptions& options)
    : source_(checked_text(std::move(text), origin), origin, std::string(config_hint), JsonNumbers::of_python),
      root_(&source_.root()),
      allow_unknown_(options.allow_unknown),
      has_length_(!options.input_shape.empty()) {
  if (!source_.root().is_object()) {
    throw source_.error("", fmt::format("expected an object, found {}", json_kind(source_.root())),
                        std::string(config_hint));
  }
}

void HuggingFaceConfig::enter(std::string_view key) {
  // The file says whether the head shares the embedding. Since version 5 of the library, this is
  // stored in the object of the whole model; before version 5, in the object of its language model.
  if (!is_inner_) outer_counts_ = text({"transformers_version"}, "").starts_with("5.");
  if (has("tie_word_embeddings") && !is_null("tie_word_embeddings")) outer_tied_ = boolean("tie_word_embeddings", false);
  root_ = &root_->at(std::string(key));
  path_ += std::string(key) + '/';
  is_inner_ = true;
  asked_.clear();
}

bool HuggingFaceConfig::has_object(std::string_view key) const {
  const auto entry = root_->find(key);
  return entry != root_->end() && entry->is_object();
}

bool HuggingFaceConfig::has(std::string_view key) const { return root_->contains(key); }

bool HuggingFaceConfig::is_null(std::string_view key) const { return has(key) && root_->at(std::string(key)).is_null(); }

bool HuggingFaceConfig::is_empty(std::string_view key) const { return !has(key) || root_->at(std::string(key)).empty(); }

bool HuggingFaceConfig::is_text(std::string_view key) const {
  const auto entry = root_->find(key);
  return entry != root_->end() && entry->is_string();
}

const Json* HuggingFaceConfig::find(Names names, std::string_view& found) {
  const Json* value = nullptr;
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    asked_.emplace(name);
    if (value != nullptr) continue;
    const auto entry = root_->find(name);
    if (entry == root_->end() || entry->is_null()) continue;
    value = &*entry;
    found = name;
  }
  return value;
}

std::int64_t HuggingFaceConfig::whole_number(const Json& value, std::string_view path, std::int64_t low,
                                             std::int64_t high) const {
  const std::string_view key = path.substr(path.find('/') + 1);
  // A list with a number for each layer is read as one number if all its numbers are equal.
  if (value.is_array() && !value.empty() && value.front().is_number() &&
      std::all_of(value.begin(), value.end(), [&value](const Json& each) { return each == value.front(); })) {
    return whole_number(value.front(), path, low, high);
  }
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
                           value.is_number() ? fmt::to_string(value.get<double>()) : std::string(json_kind(value))));
  }
  // A value that does not fit an int64 exceeds every limit.
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
  if (value != nullptr) return whole_number(*value, key, low, high);
  note_foreign(names, fallback);
  return fallback;
}

std::int64_t HuggingFaceConfig::size(Names names, std::int64_t fallback, std::int64_t high) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value != nullptr) return whole_number(*value, key, 1, high);
  note_default(*names.begin(), fallback);
  note_foreign(names, fallback);
  return fallback;
}

double HuggingFaceConfig::fraction(Names names, double fallback) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, json_kind(*value)));
  const auto number = value->get<double>();
  if (!(number >= 0 && number <= 1)) fail(key, fmt::format("'{}' is not from 0 to 1", key));
  return number;
}

bool HuggingFaceConfig::boolean(std::string_view key, bool fallback) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, fmt::format("'{}' is {}, not true or false", key, json_kind(*value)));
  return value->get<bool>();
}

std::optional<bool> HuggingFaceConfig::positive(std::string_view key) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, json_kind(*value)));
  return value->get<double>() > 0;
}

std::optional<std::vector<bool>> HuggingFaceConfig::positives(std::string_view key, std::size_t count) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || value->size() != count ||
      !std::all_of(value->begin(), value->end(), [](const Json& each) { return each.is_number(); }))
    fail(key, fmt::format("'{}' is not a list of {} numbers", key, count));
  std::vector<bool> result;
  for (const Json& each : *value) result.push_back(each.get<double>() > 0);
  return result;
}

std::string HuggingFaceConfig::text(Names names, std::string_view fallback) {
  std::string_view key;
  const Json* const value = find(names, key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) fail(key, fmt::format("'{}' is {}, not text", key, json_kind(*value)));
  return value->get<std::string>();
}

const Json* HuggingFaceConfig::find_inner(std::string_view outer, std::string_view key) {
  std::string_view found;
  const Json* const object = find({outer}, found);
  if (object == nullptr) return nullptr;
  if (!object->is_object()) fail(outer, fmt::format("'{}' is {}, not an object", outer, json_kind(*object)));
  const auto entry = object->find(key);
  return entry == object->end() || entry->is_null() ? nullptr : &*entry;
}

std::int64_t HuggingFaceConfig::inner_integer(std::string_view outer, std::string_view key, std::int64_t fallback) {
  const Json* const value = find_inner(outer, key);
  return value == nullptr ? fallback : whole_number(*value, fmt::format("{}/{}", outer, key), 1, max_attribute);
}

bool HuggingFaceConfig::inner_boolean(std::string_view outer, std::string_view key, bool fallback) {
  const Json* const value = find_inner(outer, key);
  if (value == nullptr) return fallback;
  const std::string path = fmt::format("{}/{}", outer, key);
  if (!value->is_boolean()) fail(path, fmt::format("'{}' is {}, not true or false", key, json_kind(*value)));
  return value->get<bool>();
}

std::string HuggingFaceConfig::inner_text(std::string_view outer, std::string_view key, std::string_view fallback) {
  const Json* const value = find_inner(outer, key);
  if (value == nullptr) return std::string(fallback);
  const std::string path = fmt::format("{}/{}", outer, key);
  if (!value->is_string()) fail(path, fmt::format("'{}' is {}, not text", key, json_kind(*value)));
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
  warn(fmt::format("the activation {} is counted as gelu", quote(name)));
  return "gelu";
}

std::string HuggingFaceConfig::head_with(std::string_view type, Architectures endings) {
  std::vector<std::pair<std::string, std::string>> known;
  for (const auto& [ending, head] : endings) {
    std::string name = fmt::format("{}{}", type, ending);
    const bool is_listed = std::any_of(known.begin(), known.end(), [&](const auto& each) { return each.first == name; });
    if (!is_listed) known.emplace_back(std::move(name), head);
  }
  return head_among(known);
}

std::string HuggingFaceConfig::head_of(std::string_view type, std::string_view other) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> endings{
      {{"ForCausalLM", "language_model"},
       {"LMHeadModel", "language_model"},
       {"ForConditionalGeneration", "language_model"},
       {"Model", "none"},
       {"TextModel", "none"},
       {"ForSequenceClassification", "classifier"}}};
  std::vector<std::pair<std::string, std::string>> known;
  for (const std::string_view beginning : {type, other}) {
    if (beginning.empty()) continue;
    for (const auto& [ending, head] : endings) known.emplace_back(fmt::format("{}{}", beginning, ending), head);
  }
  return head_among(known);
}

std::string HuggingFaceConfig::head_among(std::span<const std::pair<std::string, std::string>> known) {
  std::string_view key;
  const Json* const value = find({"architectures"}, key);
  const auto& [first, its_head] = known.front();
  if (value == nullptr || (value->is_array() && value->empty())) {
    if (!is_inner_) warn(fmt::format("the file has no architecture: read as {}", first));
    return its_head;
  }
  if (!value->is_array() || !value->front().is_string()) fail(key, "'architectures' is not a list of names");
  if (value->size() > 1) warn("the file has several architectures: the first one was read");
  const std::string name = value->front().get<std::string>();
  std::vector<std::string_view> names;
  for (const auto& [architecture, head] : known) {
    if (architecture == name) return head;
    names.push_back(architecture);
  }
  unknown(key, fmt::format("unknown architecture {}", quote(name)), suggest(name, names));
  warn(fmt::format("the architecture {} is read as {}", quote(name), first));
  return its_head;
}

bool HuggingFaceConfig::tied(bool fallback) {
  const bool says = has("tie_word_embeddings") && !is_null("tie_word_embeddings");
  const bool own = boolean("tie_word_embeddings", fallback);
  return outer_tied_ && (outer_counts_ || !says) ? *outer_tied_ : own;
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

std::int64_t HuggingFaceConfig::windows(std::int64_t layers, std::int64_t fallback) {
  std::string_view key;
  const Json* const types = find({"layer_types"}, key);
  if (types == nullptr) return fallback;
  if (!types->is_array()) fail(key, fmt::format("'{}' is {}, not a list", key, json_kind(*types)));
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
    unknown(key,
            fmt::format("layer {} breaks the pattern ({} layers with a window, then a layer without a window)", i, count));
    warn(fmt::format("read as if each layer without a window followed {} layers with a window", count));
    break;
  }
  return count;
}

std::optional<std::string> HuggingFaceConfig::pattern(Names names, Kinds kinds) {
  std::string_view key;
  const Json* const types = find(names, key);
  if (types == nullptr) return std::nullopt;
  if (!types->is_array()) fail(key, fmt::format("'{}' is {}, not a list", key, json_kind(*types)));
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

std::optional<std::string> HuggingFaceConfig::repeated_pattern(std::string_view key, Kinds kinds, std::size_t most) {
  std::string_view found;
  const Json* const pairs = find({key}, found);
  if (pairs == nullptr) return std::nullopt;
  const auto refuse = [&] { fail(key, fmt::format("'{}' is not a list of names and how often each list repeats", key)); };
  if (!pairs->is_array()) refuse();
  std::string letters;
  for (const Json& pair : *pairs) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_array() || !pair[1].is_number_unsigned()) refuse();
    std::string once;
    for (const Json& name : pair[0]) {
      const auto* const kind =
          std::find_if(kinds.begin(), kinds.end(), [&name](const auto& entry) { return name == entry.first; });
      if (kind == kinds.end()) refuse();
      once += kind->second;
    }
    const auto times = pair[1].get<std::uint64_t>();
    if (!once.empty() && times > (most - std::min(most, letters.size())) / once.size())
      fail(key, fmt::format("'{}' has more entries than there are layers ({})", key, most));
    for (std::uint64_t i = 0; i < times && !once.empty(); ++i) letters += once;
  }
  return letters;
}

std::optional<std::vector<std::int64_t>> HuggingFaceConfig::numbers(std::string_view key, std::int64_t low) {
  std::string_view found;
  const Json* const list = find({key}, found);
  return list == nullptr ? std::nullopt : std::optional(numbers_of(*list, std::string(key), low));
}

std::optional<std::vector<std::int64_t>> HuggingFaceConfig::inner_numbers(std::string_view outer, std::string_view key,
                                                                          std::int64_t low) {
  const Json* const list = find_inner(outer, key);
  return list == nullptr ? std::nullopt : std::optional(numbers_of(*list, fmt::format("{}/{}", outer, key), low));
}

std::vector<std::int64_t> HuggingFaceConfig::numbers_of(const Json& list, const std::string& path, std::int64_t low) const {
  if (!list.is_array()) fail(path, fmt::format("'{}' is {}, not a list", path, json_kind(list)));
  std::vector<std::int64_t> values;
  for (const Json& value : list) values.push_back(whole_number(value, path, low, max_attribute));
  return values;
}

void HuggingFaceConfig::require_no_windows() {
  require("use_sliding_window", false, "all layers attend to all tokens");
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
    fail(key, fmt::format("there are {} experts, so {} cannot be active", experts.count, experts.active));
  }
  return experts;
}

void HuggingFaceConfig::require_number(std::string_view key, double expected, std::string_view reason) {
  std::string_view found;
  const Json* const value = find({key}, found);
  if (value == nullptr) return;
  if (!value->is_number()) fail(key, fmt::format("'{}' is {}, not a number", key, json_kind(*value)));
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
  throw source_.error(path_ + std::string(key), message, hint);
}

}  // namespace ddl
