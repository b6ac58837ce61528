#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_source.hpp"
#include "model_zoo/files/model_reader.hpp"
#include "model_zoo/importers/import.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

/// A `config.json` whose keys are asked for one by one, each with the default that the transformers library documents. A key
/// may have several names, of which the first in the file counts; a value of null counts as none. Every accessor throws an
/// Error placed at a value that is not what was asked for.
class HuggingFaceConfig {
 public:
  using Names = std::initializer_list<std::string_view>;

  HuggingFaceConfig(std::string text, std::string origin, const ImportOptions& options);

  [[nodiscard]] bool has(std::string_view key) const;  ///< with a value or with null
  [[nodiscard]] bool is_null(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t fallback, std::int64_t low = 1,
                                     std::int64_t high = max_attribute);
  /// The same for what every file should say; `warn_of_defaults` names those that this one does not.
  [[nodiscard]] std::int64_t size(Names names, std::int64_t fallback, std::int64_t high = max_attribute);
  /// A size that a model file repeats layers by.
  [[nodiscard]] std::int64_t layers(Names names, std::int64_t fallback) { return size(names, fallback, max_repeat); }
  [[nodiscard]] double fraction(Names names, double fallback);  ///< in [0, 1]
  [[nodiscard]] bool boolean(std::string_view key, bool fallback);
  /// Whether a number is above zero; nothing where the file says none.
  [[nodiscard]] std::optional<bool> positive(std::string_view key);
  [[nodiscard]] std::string text(Names names, std::string_view fallback);
  /// A whole number of the object `outer`; 0 where there is none.
  [[nodiscard]] std::int64_t inner_integer(std::string_view outer, std::string_view key);
  /// The same for true or false, and for text, with the default.
  [[nodiscard]] bool inner_boolean(std::string_view outer, std::string_view key, bool fallback);
  [[nodiscard]] std::string inner_text(std::string_view outer, std::string_view key, std::string_view fallback);

  /// Heads among which `whole` channels divide.
  [[nodiscard]] std::int64_t heads(Names names, std::int64_t fallback, std::int64_t whole);
  /// The operation `activation` for the function that a key names.
  [[nodiscard]] std::string activation(Names names, std::string_view fallback);
  [[nodiscard]] std::string activation_of(std::string_view key, std::string_view name);
  /// What the first of `architectures` is called in the family; the first of the known where the file names none.
  using Architectures = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  [[nodiscard]] std::string head(Architectures known);
  /// Classes of a classifier.
  [[nodiscard]] std::int64_t labels();
  /// `yes` where the library runs attention that does not write its scores; `usual` is what it runs by default.
  [[nodiscard]] std::string_view fused(std::string_view usual = "sdpa");
  /// Tokens of a sample: as many as the model was trained with before its positions were stretched. Refuses stretching of a
  /// kind or by a factor that there is not.
  [[nodiscard]] std::int64_t tokens(Names names, std::int64_t fallback);

  /// Layers with a window before each that has none, as `layer_types` lists them, or `fallback`. Refuses another order.
  [[nodiscard]] std::int64_t windows(std::int64_t layers, std::int64_t fallback);
  /// The kinds of the layers that a list names, one letter each, as `kinds` has them by name; nothing where there is no
  /// such list. Refuses any other name.
  using Kinds = std::initializer_list<std::pair<std::string_view, char>>;
  [[nodiscard]] std::optional<std::string> pattern(Names names, Kinds kinds);
  /// Refuses `layer_types` unless all layers see all tokens.
  void require_no_windows();
  /// Experts of which `active_key` says how many see each token.
  struct Experts {
    std::int64_t count, active;
  };
  [[nodiscard]] Experts experts(Names count, std::int64_t count_fallback, Names active, std::int64_t active_fallback);
  /// Refuses a list that is not empty, for the reason given.
  void require_empty(std::string_view key, std::string_view reason);
  /// Refuses a number unless its value is `expected`, for the reason given.
  void require_number(std::string_view key, double expected, std::string_view reason);

  /// Refuses `key` unless its value is `expected`, for the reason given.
  void require(std::string_view key, bool expected, std::string_view reason);
  /// What no family can say: an Error placed at the key, or a warning with `allow_unknown`.
  void unknown(std::string_view key, const std::string& message, const std::string& hint = {});
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& hint = {}) const;
  void warn(std::string message) { warnings_.push_back(std::move(message)); }

  /// Warns of the sizes that the file leaves to the library.
  void warn_of_defaults();
  /// Refuses the keys that nobody asked for and that change the number of parameters; warns of those that might matter.
  void warn_of_rest();
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  [[nodiscard]] const nlohmann::ordered_json* find(Names names, std::string_view& found);
  /// The entry of the object `outer`; none where it is null, or there is no such object.
  [[nodiscard]] const nlohmann::ordered_json* find_inner(std::string_view outer, std::string_view key);
  [[nodiscard]] std::int64_t whole_number(const nlohmann::ordered_json& value, std::string_view path, std::int64_t low,
                                          std::int64_t high) const;

  /// `count` before it was stretched as the object `outer` says.
  [[nodiscard]] std::int64_t unstretched(std::string_view outer, std::int64_t count);
  /// A size of the library's own choice.
  void note_default(std::string_view key, std::int64_t value);

  JsonSource source_;
  bool allow_unknown_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_;  ///< `num_hidden_layers 32`
  std::vector<std::string> warnings_;
};

}  // namespace ddl
