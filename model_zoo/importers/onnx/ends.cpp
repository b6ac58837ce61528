// Finds where the network begins and ends within the graph. Nodes before and after the network's
// layers are left out, with a warning.

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

bool multiplies(const std::string& operation) {
  return operation == "MatMul" || operation == "Gemm" || operation == "Einsum";
}

/// Returns a list of operators with their counts, such as `12 Concat, 9 Mul and NonMaxSuppression`, the most frequent first.
std::string listed(const std::vector<const onnx::NodeProto*>& nodes) {
  std::map<std::string, int> counts;
  for (const onnx::NodeProto* const node : nodes) ++counts[node->op_type()];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t most_kinds = 12;
  std::vector<std::string> parts;
  for (const auto& [operation, count] : sorted) {
    if (parts.size() == most_kinds) break;
    const std::string name = quote(operation);
    parts.push_back(count == 1 ? name.substr(1, name.size() - 2)
                               : fmt::format("{} {}", count, name.substr(1, name.size() - 2)));
  }
  return fmt::format("{}{}", fmt::join(parts, ", "), sorted.size() > most_kinds ? ", …" : "");
}

}  // namespace

bool Translation::starts_network(const onnx::NodeProto& node) {
  const Value* const first = find_input(node, 0);
  if (first == nullptr || !first->of_tokens || !first->shape || first->integral || !network_.layers.empty() ||
      lost_lookup_ != nullptr)
    return false;
  const std::vector<std::int64_t> sizes = *first->shape;
  const bool is_product = multiplies(node.op_type()) || node.op_type() == "Conv";
  const bool fits = sizes.size() >= 2 && sizes.size() <= 2 + most_positions && is_countable(sizes) &&
                    std::none_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; });
  if (!is_product || !fits || find_input(node, 1) == nullptr || find_input(node, 1)->kind != Value::Kind::stored)
    return false;
  const Dimension samples = whole(batch, sizes[0]);
  Value value{.kind = Value::Kind::network};
  if (node.op_type() == "Conv" || sizes.size() != 3) {
    network_.input = image_shape(std::span(sizes).subspan(1));
    value.view = image_view(-1, samples, network_.input);
  } else {
    network_.input = {.channels = sizes[2], .extent = {sizes[1], 1, 1}, .rank = 1, .sequence = true};
    value.view = {.tensor = -1, .dimensions = {samples, whole(first_position, sizes[1]), whole(channels, sizes[2])}};
  }
  values_.insert_or_assign(node.input(0), std::move(value));
  network_.warnings.push_back(fmt::format(
      "the model begins at {}, which the graph computes from its own input without weights", quote(node.input(0))));
  return true;
}

void Translation::leave_out(const onnx::NodeProto& node, const Error* reason) {
  for (int i = 0; i < node.input_size(); ++i) {
    const Value* const value = find_input(node, i);
    if (value == nullptr || !value->is_network()) continue;
    const Value input = *value;
    try {
      ends_.push_back(plain(node, input).tensor);
    } catch (const Unsupported&) {
      ends_.push_back(input.view.tensor);
    }
  }
  if (left_out_.empty() && reason != nullptr) reason_ = std::string(reason->what()).substr(graph_.origin().size() + 2);
  left_out_.push_back(&node);
  for (int i = 0; i < node.output_size(); ++i) set_output(node, {.kind = Value::Kind::side, .left_out = true}, i);
}

void Translation::remove_unread(const std::vector<int>& outputs) {
  std::vector<bool> read(network_.layers.size(), false);
  for (const int tensor : outputs) read[static_cast<std::size_t>(tensor)] = true;
  for (std::size_t i = network_.layers.size(); i > 0; --i) {
    NetworkLayer& layer = network_.layers[i - 1];
    if (layer.removed) continue;
    if (!read[i - 1]) {
      network_.remove(static_cast<int>(i) - 1);
      continue;
    }
    for (const int tensor : layer.inputs) {
      if (tensor >= 0) read[static_cast<std::size_t>(tensor)] = true;
    }
  }
}

void Translation::warn() {
  if (!left_out_.empty()) {
    const auto product = [](const onnx::NodeProto* node) { return multiplies(node->op_type()); };
    const bool has_product = std::any_of(left_out_.begin(), left_out_.end(), product);
    network_.warnings.push_back(
        fmt::format("left out at the end: {} node{} without weights{} ({}), first a node that no layer represents: {}",
                    left_out_.size(), left_out_.size() == 1 ? "" : "s",
                    has_product ? ", whose multiply-adds are not counted" : "", listed(left_out_), reason_));
  }
  for (const Assumption& each : assumptions_) {
    const std::string others = each.nodes == 1   ? ""
                               : each.nodes == 2 ? "; so does 1 other node"
                                                 : fmt::format("; so do {} other nodes", each.nodes - 1);
    network_.warnings.push_back(fmt::format("{}: {}{}", description_of(*each.first), each.what, others));
  }
  for (std::string& warning : network_.warnings_of_shared()) network_.warnings.push_back(std::move(warning));
}

}  // namespace ddl::onnx_import
