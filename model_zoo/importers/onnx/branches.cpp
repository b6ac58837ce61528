// Translates the branches of an If whose condition depends only on sizes. Exporters write such an If for sizes that were
// dynamic during the export.

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

namespace {

/// Returns the branch that runs; null if the condition depends on the data.
const onnx::GraphProto* branch_of(const Translation& translation, const onnx::NodeProto& node) {
  const Value* const condition = translation.find_input(node, 0);
  if (condition == nullptr || !condition->numbers || condition->numbers->count() != 1) return nullptr;
  const auto* const branch = find_attribute(node, condition->numbers->real(0) != 0 ? "then_branch" : "else_branch");
  return branch != nullptr && branch->has_g() ? &branch->g() : nullptr;
}

}  // namespace

bool Translation::enters_branch(const onnx::NodeProto& node) {
  if (node.op_type() != "If") return false;
  const onnx::GraphProto* const branch = branch_of(*this, node);
  if (branch == nullptr) {
    unsupported(node, "the condition depends on the content of tensors, so the taken branch is unknown",
                "export the network, or the part of it that is trained, without the condition");
  }
  for (const onnx::TensorProto& tensor : branch->initializer())
    values_.insert_or_assign(tensor.name(),
                             stored_value(tensor.name(), stored_tensor(tensor, tensor.name(), graph_.origin())));
  for (const onnx::NodeProto& inner : branch->node()) {
    graph_.check_operator(inner);
    for (const std::string& input : inner.input()) {
      if (!input.empty() && !values_.contains(input)) graph_.fail(inner, fmt::format("no node produces {}", quote(input)));
    }
    visit(inner);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const auto found = i < branch->output_size() ? values_.find(branch->output(i).name()) : values_.end();
    if (found == values_.end()) graph_.fail(node, fmt::format("the branch does not produce output {}", i));
    set_output(node, Value(found->second), i);
  }
  return true;
}

}  // namespace ddl::onnx_import
