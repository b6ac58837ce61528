#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/yaml_node.hpp"
#include "model_zoo/operations/registry.hpp"
#include "model_zoo/values/expression.hpp"

namespace ddl {

/// Letters of the longest name that a model may have.
inline constexpr std::size_t max_model_name_length = 100;

/// One entry of a list of layers, as the file says it.
struct ModelItem {
  enum class Kind {
    operation,  ///< one layer
    repeat,     ///< lists[0], `count` times
    residual,   ///< lists[0] is the body, lists[1] the shortcut; their sum
    branches,   ///< each of `lists` from the same input; `operation` joins them
    block,      ///< an instance of a named block
    pattern,    ///< for each letter of a text, the list that belongs to it: `letters_listed` names those of `lists`
  };
  Kind kind;
  YamlNode place;  ///< the key that says what it is
  const OperationKind* operation = nullptr;
  std::optional<YamlNode> attributes{};  ///< of an operation
  std::optional<YamlNode> name{};
  std::vector<YamlNode> from{};
  std::optional<YamlNode> condition{};
  bool auxiliary = false;
  std::vector<std::vector<ModelItem>> lists{};
  std::optional<YamlNode> count{};  ///< of a repeat
  std::optional<YamlNode> block{};  ///< name of a block
  std::optional<YamlNode> text{};   ///< of a pattern
  std::string letters_listed{};     ///< of a pattern
  std::vector<std::pair<YamlNode, YamlNode>> arguments{};
  std::size_t letters = 0;  ///< of what is evaluated each time the item is expanded
};

/// A named parameter with its value, or none where the user of the block or family must give it.
struct ModelParameter {
  YamlNode name;
  std::optional<YamlNode> value{};
};

/// A part of a network that is used by name.
struct ModelBlock {
  YamlNode name;
  std::vector<ModelParameter> parameters{};
  bool checkpoint = false;  ///< each instance is a unit of checkpointing
  std::vector<ModelItem> layers{};
  std::size_t letters = 0;  ///< of the parameters
};

/// What one model or family file says: checked for everything that can be known without sizes.
struct ModelFile {
  YamlNode root;
  std::optional<YamlNode> model{};   ///< the model's name; a family has none
  std::optional<YamlNode> family{};  ///< the family a model is of, or the name of a family
  std::string description{}, source{};
  std::vector<std::string> aliases{};
  std::optional<std::int64_t> batch{};  ///< samples that a device is usually given
  std::optional<YamlNode> input{};
  std::vector<ModelParameter> parameters{};
  std::vector<ModelBlock> blocks{};
  std::vector<ModelItem> layers{};

  /// Refuses unknown keys, misplaced and malformed items, bad expressions, unknown parameters and blocks: everywhere, used
  /// or not.
  [[nodiscard]] static ModelFile read(const YamlNode& root);
  [[nodiscard]] const ModelBlock* find_block(std::string_view name) const;
};

}  // namespace ddl
