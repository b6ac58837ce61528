#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_source.hpp"
#include "model_zoo/files/import.hpp"
#include "model_zoo/files/model_reader.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

/// Returns the name of the type of a JSON value: `a list`, `text`, …
[[nodiscard]] std::string_view json_kind(const nlohmann::ordered_json& value);
/// Returns whether a value is null, false, none or zero. A key with such a value adds no weights.
[[nodiscard]] bool says_none(const nlohmann::ordered_json& value);

/// A `config.json` whose keys are read one by one. A missing key, or a key with the value null, has
/// the default that the transformers library documents. If a key has several names, the first one
/// in the file is used. Every accessor throws Error that points to a value of the wrong type.
class HuggingFaceConfig {
 public:
  /// The names of a key; empty names are ignored.
  using Names = std::initializer_list<std::string_view>;

  HuggingFaceConfig(std::string text, const std::string& origin, const ImportOptions& options);
  HuggingFaceConfig(const HuggingFaceConfig&) = delete;
  HuggingFaceConfig& operator=(const HuggingFaceConfig&) = delete;

  /// From this call on, keys are read from the object that is the value of `key`, such as the language model of a multimodal
  /// model. Outside of this object, only the key that says whether the head shares the embedding may still be read.
  void enter(std::string_view key);
  [[nodiscard]] bool has_object(std::string_view key) const;
  /// Calls `read`, which reads keys from the object that is the value of `key`, and warns of the object's unread keys. A
  /// missing object has no keys. After this call, keys are read from where they were read before.
  void within(std::string_view key, const std::function<void()>& read);

  [[nodiscard]] bool has(std::string_view key) const;  ///< whether the key is in the file, with a value or with null
  [[nodiscard]] bool is_null(std::string_view key) const;
  [[nodiscard]] bool is_text(std::string_view key) const;
  /// Whether the value of a key is an object or a list without entries, or is null; true without the key.
  [[nodiscard]] bool is_empty(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t fallback, std::int64_t low = 1,
                                     std::int64_t high = max_attribute);
  /// Reads a size that every file should contain; `warn_of_defaults` lists the missing sizes.
  [[nodiscard]] std::int64_t size(Names names, std::int64_t fallback, std::int64_t high = max_attribute);
  /// Reads a size that becomes the number of repetitions of layers in a model file.
  [[nodiscard]] std::int64_t layers(Names names, std::int64_t fallback) { return size(names, fallback, max_repeat); }
  [[nodiscard]] double fraction(Names names, double fallback);  ///< reads a number in [0, 1]
  [[nodiscard]] bool boolean(std::string_view key, bool fallback);
  /// Returns whether a number is above zero; empty if the file does not contain the number.
  [[nodiscard]] std::optional<bool> positive(std::string_view key);
  /// Returns, for each of `count` numbers in a list, whether it is above zero. Empty if the file does
  /// not contain the list. Throws Error for a list of another length.
  [[nodiscard]] std::optional<std::vector<bool>> positives(std::string_view key, std::size_t count);
  [[nodiscard]] std::string text(Names names, std::string_view fallback);
  /// Reads a whole number of the object `outer`.
  [[nodiscard]] std::int64_t inner_integer(std::string_view outer, std::string_view key, std::int64_t fallback);
  /// The two functions read a boolean and a text of the object `outer`.
  [[nodiscard]] bool inner_boolean(std::string_view outer, std::string_view key, bool fallback);
  [[nodiscard]] std::string inner_text(std::string_view outer, std::string_view key, std::string_view fallback);

  /// Reads a number of heads. `whole`: number of channels, which the number of heads must divide.
  [[nodiscard]] std::int64_t heads(Names names, std::int64_t fallback, std::int64_t whole);
  /// Returns the name in model files of the activation function that a key names.
  [[nodiscard]] std::string activation(Names names, std::string_view fallback);
  [[nodiscard]] std::string activation_of(std::string_view key, std::string_view name);
  /// Returns the head of the model, by its name in the families. The head is that of the first class in `architectures` or,
  /// if the file names no class, of the first entry of `endings`. A class name is the type followed by one of the endings.
  using Architectures = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  [[nodiscard]] std::string head_with(std::string_view type, Architectures endings);
  /// Returns the head of a decoder, like head_with. The names of a decoder's classes all begin with
  /// `type` or with `other`: `Llama` of `LlamaForCausalLM`.
  [[nodiscard]] std::string head_of(std::string_view type, std::string_view other = {});
  /// Returns the number of classes of a classifier.
  [[nodiscard]] std::int64_t labels();
  /// Returns `yes` if the library runs attention that does not write its scores. `usual`: the
  /// library's default implementation.
  [[nodiscard]] std::string_view fused(std::string_view usual = "sdpa");
  /// Returns whether the head shares the embedding.
  [[nodiscard]] bool tied(bool fallback);
  /// Returns the number of channels of a head that rotary positions rotate, which is a share of the head's channels. The
  /// library truncates the number, and it must be even. Throws Error if no channels are rotated.
  [[nodiscard]] std::int64_t turned(Names names, double fallback, std::int64_t head_size);
  /// Returns the number of tokens of a sample: the number that the model was trained with before
  /// RoPE scaling. Throws Error for an unknown kind of scaling, or an invalid factor.
  [[nodiscard]] std::int64_t tokens(Names names, std::int64_t fallback);

  /// Returns the number of layers with a window before each layer without a window. It is read from
  /// `layer_types`, or is `fallback`. Throws Error if layers are in any other order.
  [[nodiscard]] std::int64_t windows(std::int64_t layers, std::int64_t fallback);
  /// Returns the kinds of the layers in a list, as one letter for each layer; `kinds` contains the letter of each name.
  /// Empty if there is no such list. Throws Error for a name that is missing in `kinds`.
  using Kinds = std::initializer_list<std::pair<std::string_view, char>>;
  [[nodiscard]] std::optional<std::string> pattern(Names names, Kinds kinds);
  /// Returns the letters of a list of pairs, each a list of names and how often it repeats: `[[["global", "local"], 12]]`.
  /// Empty if there is no such list. Throws Error for another form, or for more than `most` names.
  [[nodiscard]] std::optional<std::string> repeated_pattern(std::string_view key, Kinds kinds, std::size_t most);
  /// Reads a list of whole numbers of at least `low`; empty if there is no list.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers(std::string_view key, std::int64_t low);
  /// Reads a list of whole numbers of the object `outer`.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> inner_numbers(std::string_view outer, std::string_view key,
                                                                       std::int64_t low);
  /// Throws Error if `layer_types` has layers that do not attend to all tokens.
  void require_no_windows();
  /// The numbers of experts of a model. `active_key`: the key for the number of experts per token.
  struct Experts {
    std::int64_t count, active;
  };
  [[nodiscard]] Experts experts(Names count, std::int64_t count_fallback, Names active, std::int64_t active_fallback);
  /// Throws Error with `reason` if the number at `key` is not `expected`.
  void require_number(std::string_view key, double expected, std::string_view reason);

  /// Throws Error with `reason` if the value of `key` is not `expected`.
  void require(std::string_view key, bool expected, std::string_view reason);
  /// Reports a setting that no family supports: throws Error that points to the key or, with `allow_unknown`, warns.
  void unknown(std::string_view key, const std::string& message, const std::string& hint = {});
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& hint = {}) const;
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  /// Accepts a key whose value is the same for all models of the type.
  void accept(std::string_view key) { asked_.emplace(key); }
  /// Warns of modules for multi-token prediction, which the library leaves out.
  void warn_of_predictors(std::string_view parameter = {});

  /// Warns of sizes that have the library's defaults because the file does not contain them. Throws
  /// Error if the file gives one of these sizes by a key of another type.
  void warn_of_defaults();
  /// Throws Error for unread keys that change the number of parameters; warns of unread keys that might change it.
  void warn_of_rest();
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  [[nodiscard]] const nlohmann::ordered_json* find(Names names, std::string_view& found);
  /// Returns an entry of the object `outer`; null if the entry is null, or if there is no such object.
  [[nodiscard]] const nlohmann::ordered_json* find_inner(std::string_view outer, std::string_view key);
  [[nodiscard]] std::vector<std::int64_t> numbers_of(const nlohmann::ordered_json& list, const std::string& path,
                                                     std::int64_t low) const;
  [[nodiscard]] std::int64_t whole_number(const nlohmann::ordered_json& value, std::string_view path, std::int64_t low,
                                          std::int64_t high) const;

  [[nodiscard]] std::string head_among(std::span<const std::pair<std::string, std::string>> known);
  /// Returns the number of tokens before RoPE scaling. The object at a path describes the scaling to `count` tokens.
  [[nodiscard]] std::int64_t unstretched(const std::string& path, const nlohmann::ordered_json& object, std::int64_t count);
  /// Records a size that is the library's default.
  void note_default(std::string_view key, std::int64_t value);
  /// Records the keys of other types for a size that the file does not contain.
  void note_foreign(Names names, std::int64_t used);
  /// Throws Error for the first key in the file that note_foreign() recorded.
  void refuse_foreign();

  JsonSource source_;
  const nlohmann::ordered_json* root_;  ///< the object that keys are read from
  std::string path_;                    ///< path of `root_`, such as `text_config/`
  std::optional<bool> outer_tied_;      ///< whether the head shares the embedding, according to the whole file
  bool outer_counts_ = false;           ///< whether `outer_tied_` is used, and not the value in the object
  bool is_inner_ = false;
  bool allow_unknown_;
  bool has_length_;  ///< whether the user gives the number of tokens of a sample
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_;  ///< missing keys with their default values, such as `num_hidden_layers 32`
  struct Foreign {
    std::string key, own;
    std::int64_t used;  ///< the library's default, which is used
  };
  std::vector<Foreign> foreign_;
  std::vector<std::string> warnings_;
};

}  // namespace ddl
