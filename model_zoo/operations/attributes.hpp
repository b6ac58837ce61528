#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/yaml_node.hpp"
#include "model_zoo/operations/shape_rules.hpp"
#include "model_zoo/values/expression.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// One operation at one place of a network in a model file: the attributes, with the `$parameters` replaced, and the shapes
/// that the operation reads. Every accessor throws Error that points to the attribute.
class Attributes {
 public:
  /// `place` is the operation's key. `node` is its value: a map, null, or the value of the attribute `main` alone. `part` is
  /// the path of the part of the network, such as `stage1.block0.`, for errors.
  Attributes(YamlNode place, std::optional<YamlNode> node, std::string_view main, const Parameters& parameters,
             std::span<const TensorShape> inputs, std::string_view part)
      : place_(std::move(place)),
        node_(std::move(node)),
        main_(main),
        parameters_(parameters),
        inputs_(inputs),
        part_(part) {}

  /// Returns the shape of the first tensor that the operation reads.
  [[nodiscard]] const TensorShape& input() const { return inputs_.front(); }
  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }

  [[nodiscard]] bool has(std::string_view key) const { return find(key).has_value(); }
  /// Returns a whole number in [low, high].
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low = 1, std::int64_t high = max_attribute) const;
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view key, std::int64_t low = 1,
                                                         std::int64_t high = max_attribute) const;
  [[nodiscard]] std::optional<double> find_number(std::string_view key, double low, double high) const;
  [[nodiscard]] std::optional<bool> find_boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;
  /// Returns the index of the attribute's text among `choices`.
  [[nodiscard]] std::size_t choice(std::string_view key, std::span<const std::string_view> choices) const;
  /// Returns a size for each of `rank` dimensions, from one number or a list: `3`, `3x3`. Each size
  /// is in [low, max_attribute].
  [[nodiscard]] std::optional<Extents> find_extents(std::string_view key, int rank, std::int64_t low) const;
  /// Returns the sizes as written in the file, up to three. A single number is not repeated for other dimensions.
  [[nodiscard]] std::optional<Extents> find_size(std::string_view key) const;
  /// Returns the attributes as the shape of a sample: `{channels: 3, size: 224x224}`, `{tokens: 1024}` or `{features: 100}`.
  [[nodiscard]] TensorShape sample_shape() const;
  /// Throws Error that points to the attribute, or to the operation if there is no attribute of that name.
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& hint = {}) const;
  /// Throws the Error for a required attribute `key` that is missing.
  [[noreturn]] void fail_missing(std::string_view key) const;

 private:
  [[nodiscard]] std::optional<YamlNode> find(std::string_view key) const;
  [[nodiscard]] Value value(const YamlNode& node) const;
  [[nodiscard]] std::string in_part(const std::string& message) const;

  YamlNode place_;
  std::optional<YamlNode> node_;
  std::string_view main_;
  const Parameters& parameters_;
  std::span<const TensorShape> inputs_;
  std::string_view part_;
};

/// Evaluates an expression at a node. Errors point to the node.
[[nodiscard]] Value evaluate_at(const YamlNode& node, const Parameters& parameters, std::optional<std::int64_t> channels);
/// Returns the value of a scalar, which may be an expression. The value must be in [low, high].
[[nodiscard]] std::int64_t integer_at(const YamlNode& node, const Parameters& parameters,
                                      std::optional<std::int64_t> channels, std::int64_t low, std::int64_t high);

}  // namespace ddl
