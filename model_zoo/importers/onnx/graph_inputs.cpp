// Determines which inputs of a graph are data, and their sizes. Some sizes may be dynamic.

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/graph.hpp"

namespace ddl::onnx_import {
namespace {

using Dimensions = google::protobuf::RepeatedPtrField<onnx::TensorShapeProto::Dimension>;

bool is_integral(int type) {
  return type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 || type == onnx::TensorProto::BOOL ||
         type == onnx::TensorProto::INT8 || type == onnx::TensorProto::UINT8;
}

/// Returns whether a size is dynamic. Some exporters write a dynamic size as -1 or 0.
bool is_dynamic(const onnx::TensorShapeProto::Dimension& dimension) {
  return !dimension.has_dim_value() || dimension.dim_value() == -1 || dimension.dim_value() == 0;
}

/// Returns whether a dynamic size is called a batch. The batch may be any dimension.
bool names_batch(const std::string& name) {
  return name == "N" || name.find("batch") != std::string::npos || name.find("Batch") != std::string::npos;
}

/// The inputs of an ONNX operator that are weights: the operator, the first index and the last index.
struct WeightPlace {
  std::string_view operation;
  int first, last;
};
constexpr WeightPlace weight_places[] = {
    {"Conv", 1, 2},   {"ConvTranspose", 1, 2},
    {"Gemm", 1, 2},   {"BatchNormalization", 1, 4},
    {"PRelu", 1, 1},  {"LayerNormalization", 1, 2},
    {"Gather", 0, 0}, {"InstanceNormalization", 1, 2},
    {"LSTM", 1, 3},   {"GRU", 1, 3},
    {"RNN", 1, 3},    {"GroupNormalization", 1, 2},
};

std::unordered_set<std::string> weights_among_inputs(const onnx::GraphProto& graph,
                                                     const std::unordered_map<std::string, StoredTensor>& stored) {
  std::unordered_set<std::string> weights, constants;
  for (const auto& [name, tensor] : stored) constants.insert(name);
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") constants.insert(node.output().begin(), node.output().end());
    // Constant indices select a part of an activation, and are not rows of a table.
    const bool takes_part = node.op_type() == "Gather" && node.input_size() > 1 && constants.contains(node.input(1));
    for (const WeightPlace& place : weight_places) {
      if (node.op_type() != place.operation || takes_part) continue;
      for (int i = place.first; i <= std::min(place.last, node.input_size() - 1); ++i) weights.insert(node.input(i));
    }
  }
  return weights;
}

/// The user's sizes of the first input, if some of its sizes are dynamic. Another input gets a size of the first input if
/// both have a dynamic size of the same name, or if both are sequences of the same kind.
class DynamicSizes {
 public:
  explicit DynamicSizes(const std::vector<std::int64_t>& given) : given_(given) {}

  /// Returns the size of dimension `i`, if there is one.
  [[nodiscard]] std::optional<std::int64_t> find(const Dimensions& dimensions, int i) const {
    const auto named = by_name_.find(dimensions[i].dim_param());
    if (!dimensions[i].dim_param().empty() && named != by_name_.end()) return named->second;
    if (i == 0 || names_batch(dimensions[i].dim_param())) return 1;  // one sample
    // In the state of a recurrent layer, the batch is not dimension 0.
    if (!is_first_ && dimensions.size() > 2 && dimensions[i].dim_param().empty()) return 1;
    const int skipped = static_cast<int>(given_.size()) == dimensions.size() ? 0 : 1;
    if (static_cast<int>(given_.size()) + skipped != dimensions.size()) return std::nullopt;
    return given_[static_cast<std::size_t>(i - skipped)];
  }
  /// Records the names of the dynamic sizes of an input.
  void note(const Dimensions& dimensions, const std::vector<std::int64_t>& shape) {
    for (int i = 0; i < dimensions.size(); ++i) {
      if (!dimensions[i].dim_param().empty())
        by_name_.emplace(dimensions[i].dim_param(), shape[static_cast<std::size_t>(i)]);
    }
    is_first_ = false;
  }

 private:
  const std::vector<std::int64_t>& given_;
  std::map<std::string, std::int64_t> by_name_;
  bool is_first_ = true;
};

/// Returns an example of sizes that the user may write: `3xHxW`.
std::string example_of(const Dimensions& dimensions) {
  std::vector<std::string> sizes;
  for (int i = 1; i < dimensions.size(); ++i) {
    sizes.push_back(!is_dynamic(dimensions[i]) ? fmt::to_string(dimensions[i].dim_value())
                    : dimensions.size() < 4    ? "128"
                    : i == 1                   ? "3"
                                               : "640");
  }
  return fmt::format("{}", fmt::join(sizes, "x"));
}

}  // namespace

void Graph::check_given(const onnx::ValueInfoProto& input, const std::vector<std::int64_t>& given) const {
  const Dimensions& dimensions = input.type().tensor_type().shape().dim();
  const std::string text = fmt::format("{}", fmt::join(given, "x"));
  const int count = static_cast<int>(given.size());
  if (count != dimensions.size() && count + 1 != dimensions.size()) {
    fail(fmt::format("the input {} has {} dimensions, which {} does not fit", quote(input.name()), dimensions.size(), text),
         fmt::format("use the sizes of one sample, without the batch, such as {}", example_of(dimensions)));
  }
  for (int i = count == dimensions.size() ? 0 : 1; i < dimensions.size(); ++i) {
    const std::int64_t size = given[static_cast<std::size_t>(i - (dimensions.size() - count))];
    if (is_dynamic(dimensions[i]) || dimensions[i].dim_value() == size || i == 0) continue;
    fail(fmt::format("the file fixes dimension {} of the input {} at {}, so that it cannot be {}", i, quote(input.name()),
                     dimensions[i].dim_value(), size),
         "only dynamic sizes of the file can be chosen; export the network with dynamic_axes for the others");
  }
}

std::vector<std::int64_t> Graph::sizes_of_weight(const onnx::ValueInfoProto& input) const {
  std::vector<std::int64_t> shape;
  for (const auto& dimension : input.type().tensor_type().shape().dim()) {
    if (!dimension.has_dim_value())
      fail(fmt::format("the weights {} have a dynamic size", quote(input.name())), "export them with fixed sizes");
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

/// Reads the inputs of the graph. If weights are inputs (`export_params=False`), the data inputs
/// are the first input, inputs of whole numbers, and inputs with a symbolic size. All other inputs
/// are weights, and so is any input that an operator reads as its weights.
void Graph::read_inputs(const std::vector<std::int64_t>& given) {
  const auto has_matrix = [](const auto& entry) { return entry.second.shape.size() >= 2; };
  const bool stores_weights = std::any_of(stored_.begin(), stored_.end(), has_matrix);
  const std::unordered_set<std::string> weights = weights_among_inputs(file_.graph(), stored_);
  std::unordered_set<std::string> seen;
  DynamicSizes dynamic(given);
  for (const onnx::ValueInfoProto& input : file_.graph().input()) {
    if (!seen.insert(input.name()).second) fail(fmt::format("two inputs are named {}", quote(input.name())));
    if (stored_.contains(input.name())) continue;
    if (!input.type().has_tensor_type()) fail(fmt::format("the input {} is not a tensor", quote(input.name())));
    const auto& type = input.type().tensor_type();
    if (!type.has_shape()) {
      fail(fmt::format("the input {} has no shape", quote(input.name())),
           "export the network with an example of its input, or run ONNX shape inference on it");
    }
    const Dimensions& dimensions = type.shape().dim();
    const bool symbolic = std::any_of(dimensions.begin(), dimensions.end(), is_dynamic);
    std::vector<std::int64_t> shape;
    if (weights.contains(input.name()) ||
        (!stores_weights && !data_.empty() && !symbolic && !is_integral(type.elem_type()))) {
      shape = sizes_of_weight(input);
      check_sizes(shape, input.name(), origin_);
      stored_.emplace(input.name(), StoredTensor{.shape = std::move(shape), .numbers = {}});
      continue;
    }
    if (data_.empty() && !given.empty()) check_given(input, given);
    for (int i = 0; i < dimensions.size(); ++i) {
      const auto size = is_dynamic(dimensions[i]) ? dynamic.find(dimensions, i) : dimensions[i].dim_value();
      if (!size) {
        fail(
            fmt::format(
                "dimension {} of the input {} has no size{}", i, quote(input.name()),
                dimensions[i].dim_param().empty() ? "" : fmt::format(", but the name {}", quote(dimensions[i].dim_param()))),
            fmt::format("set the sizes of one sample: --input-shape {0}, or @input={0} after the file's name",
                        example_of(dimensions)));
      }
      shape.push_back(*size);
    }
    check_sizes(shape, input.name(), origin_);
    dynamic.note(dimensions, shape);
    data_.push_back({.name = input.name(), .shape = std::move(shape), .integral = is_integral(type.elem_type())});
  }
  if (data_.empty()) fail("the graph has no input", "a network has an input, such as images or tokens");
}

}  // namespace ddl::onnx_import
