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

/// Maximum length of a model's name.
inline constexpr std::size_t max_model_name_length = 100;

/// One entry of a list of layers in a file.
struct ModelItem {
  enum class Kind {
    operation,  ///< one layer
    repeat,     ///< lists[0] is repeated `count` times
    residual,   ///< the sum of the body lists[0] and the shortcut lists[1]
    branches,   ///< each of `lists` reads the same input; `operation` combines the outputs
    block,      ///< an instance of a block that has a name
    pattern,    ///< for each letter of `text`, in order, the list of layers in `lists` that belongs to the letter
  };
  Kind kind;
  YamlNode place;  ///< the key that defines the kind of this item
  const OperationKind* operation = nullptr;
  std::optional<YamlNode> attributes{};  ///< attributes of an operation
  std::optional<YamlNode> name{};
  std::vector<YamlNode> from{};
  std::optional<YamlNode> condition{};
  bool auxiliary = false;
  std::vector<std::vector<ModelItem>> lists{};
  std::optional<YamlNode> count{};  ///< number of repetitions
  std::optional<YamlNode> block{};  ///< name of a block
  std::optional<YamlNode> text{};   ///< letters of a pattern
  std::string letters_listed{};     ///< for a pattern, the letter that belongs to each of `lists`
  std::vector<std::pair<YamlNode, YamlNode>> arguments{};
  std::size_t letters = 0;  ///< length of the text that is evaluated each time the item is expanded
};

/// A named parameter. If a parameter has no value, each use of its block or family must give a value.
struct ModelParameter {
  YamlNode name;
  std::optional<YamlNode> value{};
};

/// A named part of a network, which items refer to by its name.
struct ModelBlock {
  YamlNode name;
  std::vector<ModelParameter> parameters{};
  bool checkpoint = false;  ///< whether each instance is a unit of checkpointing
  std::vector<ModelItem> layers{};
  std::size_t letters = 0;  ///< total length of the texts of the parameters
};

/// The content of a model file or family file. All checks that do not depend on sizes have been made.
struct ModelFile {
  YamlNode root;
  std::optional<YamlNode> model{};   ///< the model's name; unset for a family
  std::optional<YamlNode> family{};  ///< for a model, the name of its family; for a family, its own name
  std::string description{}, source{};
  std::vector<std::string> aliases{};
  std::optional<std::int64_t> batch{};  ///< usual number of samples per device
  std::optional<YamlNode> input{};
  std::vector<ModelParameter> parameters{};
  std::vector<ModelBlock> blocks{};
  std::vector<ModelItem> layers{};

  /// Reads a file. Throws Error for unknown keys, misplaced and malformed items, invalid
  /// expressions, and unknown parameters and blocks, even in parts of the file that are not used.
  [[nodiscard]] static ModelFile read(const YamlNode& root);
  [[nodiscard]] const ModelBlock* find_block(std::string_view name) const;
};

}  // namespace ddl
