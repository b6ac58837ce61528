#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model_zoo/operations/attributes.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// A function that creates an operation from its entry in a model file. Throws Error that points to a wrong attribute.
using OperationReader = std::shared_ptr<const Operation>(const Attributes& attributes);

/// One type of operation that model files may use. A new type needs one file that defines its
/// reader, and one row of the table.
struct OperationKind {
  std::string_view key;
  /// The attribute that a value without a key sets, as in `dropout: 0.1`; empty if the operation has no such attribute.
  std::string_view main_attribute;
  std::vector<std::string_view> attributes;
  OperationReader* read;
  /// Whether the operation is a tensor of the sample, so that its layers have no inputs.
  bool of_sample = false;
};

[[nodiscard]] std::span<const OperationKind> operation_kinds();
[[nodiscard]] const OperationKind* find_operation_kind(std::string_view key);

}  // namespace ddl
