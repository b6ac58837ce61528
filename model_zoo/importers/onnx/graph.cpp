#include "model_zoo/importers/onnx/graph.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/defs/schema.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/model_stream.hpp"

namespace ddl::onnx_import {
namespace {

// Far more than any network has, but fast to process.
constexpr int most_nodes = 200'000;
constexpr int most_dimensions = 16;
constexpr std::int64_t largest_size = std::int64_t{1} << 31U;
constexpr std::int64_t most_items = std::int64_t{1} << 53U;
constexpr int oldest_opset = 11;
constexpr int newest_opset = 17;

void check_sizes(const std::vector<std::int64_t>& shape, const std::string& name, const std::string& origin) {
  if (shape.size() > most_dimensions) {
    throw Error(fmt::format("{}: {} has {} dimensions", origin, quote(name), shape.size()));
  }
  std::int64_t items = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) throw Error(fmt::format("{}: {} has a dimension of {}", origin, quote(name), size));
    if (size > largest_size || (size > 0 && items > most_items / size)) {
      throw Error(fmt::format("{}: {} is too large: {}", origin, quote(name), fmt::join(shape, " x ")),
                  "a size is at most 2^31, and a tensor has at most 2^53 items");
    }
    items *= std::max<std::int64_t>(size, 1);
  }
}

/// Items of a packed tensor, if the number of bytes is correct.
template <class T>
std::optional<std::vector<T>> unpacked(const std::string& bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(T)) return std::nullopt;
  std::vector<T> items(count);
  if (count > 0) std::memcpy(items.data(), bytes.data(), bytes.size());
  return items;
}

template <class T, class Field>
std::optional<std::vector<T>> items_of(const onnx::TensorProto& tensor, std::size_t count, const Field& field) {
  if (tensor.has_raw_data()) return unpacked<T>(tensor.raw_data(), count);
  if (static_cast<std::size_t>(field.size()) != count) return std::nullopt;
  std::vector<T> items;
  for (const auto item : field) items.push_back(static_cast<T>(item));
  return items;
}

std::optional<Numbers> numbers_of(const onnx::TensorProto& tensor, const std::vector<std::int64_t>& shape) {
  const auto count = small_count(shape);
  if (!count || tensor.data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  Numbers numbers{.shape = shape};
  const auto take = [&](const auto& items, bool integral) -> std::optional<Numbers> {
    if (!items) return std::nullopt;
    numbers.integral = integral;
    if (integral) {
      numbers.integers.assign(items->begin(), items->end());
    } else {
      numbers.reals.assign(items->begin(), items->end());
    }
    return numbers;
  };
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64:
      return take(items_of<std::int64_t>(tensor, *count, tensor.int64_data()), true);
    case onnx::TensorProto::INT32:
      return take(items_of<std::int32_t>(tensor, *count, tensor.int32_data()), true);
    case onnx::TensorProto::BOOL:
      return take(items_of<std::uint8_t>(tensor, *count, tensor.int32_data()), true);
    case onnx::TensorProto::FLOAT:
      return take(items_of<float>(tensor, *count, tensor.float_data()), false);
    case onnx::TensorProto::DOUBLE:
      return take(items_of<double>(tensor, *count, tensor.double_data()), false);
    default:
      return std::nullopt;
  }
}

bool is_integral(int type) {
  return type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 || type == onnx::TensorProto::BOOL ||
         type == onnx::TensorProto::INT8 || type == onnx::TensorProto::UINT8;
}

bool is_symbolic(const onnx::TensorShapeProto::Dimension& dimension) { return !dimension.has_dim_value(); }

/// The inputs of ONNX operators that are weights: `operator`, first and last index.
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
    {"RNN", 1, 3},
};

}  // namespace

Graph::Graph(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin) : origin_(origin) {
  // Otherwise protobuf would print its own message before ours.
  google::protobuf::SetLogHandler(nullptr);
  file_ = read_model(bytes, origin);
  if (bytes.ByteCount() == 0) fail("the file is empty", "export the network again");
  if (!file_.has_graph() || file_.graph().node_size() == 0) {
    fail("the file has no graph with nodes", "was it written by torch.onnx.export or another exporter?");
  }
  check_opset();
  if (file_.graph().node_size() > most_nodes) {
    fail(fmt::format("the graph has {} nodes, more than {}", file_.graph().node_size(), most_nodes));
  }
  read_stored();
  read_inputs();
  read_nodes();
}

void Graph::check_opset() {
  for (const auto& opset : file_.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() < oldest_opset || opset.version() > newest_opset) {
      fail(
          fmt::format("the file has opset {}, but only {} to {} are supported", opset.version(), oldest_opset, newest_opset),
          fmt::format("export it with opset {}: torch.onnx.export(…, opset_version={})", newest_opset, newest_opset));
    }
    opset_ = static_cast<int>(opset.version());
  }
  if (opset_ == 0) fail("the file does not state its opset", "export it with opset 17");
}

void Graph::read_stored() {
  for (onnx::TensorProto& tensor : *file_.mutable_graph()->mutable_initializer()) {
    if (!stored_.emplace(tensor.name(), stored_tensor(tensor, tensor.name(), origin_)).second) {
      fail(fmt::format("two stored tensors are named {}", quote(tensor.name())));
    }
    tensor.Clear();
  }
  if (file_.graph().sparse_initializer_size() > 0) fail("the file has sparse tensors, which are not supported");
}

std::unordered_set<std::string> Graph::weights_among_inputs() const {
  std::unordered_set<std::string> weights;
  for (const onnx::NodeProto& node : file_.graph().node()) {
    for (const WeightPlace& place : weight_places) {
      if (node.op_type() != place.operation) continue;
      for (int i = place.first; i <= std::min(place.last, node.input_size() - 1); ++i) weights.insert(node.input(i));
    }
  }
  return weights;
}

/// If weights are inputs (`export_params=False`), the data inputs are the first one, those of whole numbers, and those with
/// a symbolic size; the rest are weights, and so are inputs in the place of an operator's weights.
void Graph::read_inputs() {
  const auto has_matrix = [](const auto& entry) { return entry.second.shape.size() >= 2; };
  const bool stores_weights = std::any_of(stored_.begin(), stored_.end(), has_matrix);
  const std::unordered_set<std::string> weights = weights_among_inputs();
  std::unordered_set<std::string> seen;
  for (const onnx::ValueInfoProto& input : file_.graph().input()) {
    if (!seen.insert(input.name()).second) fail(fmt::format("two inputs are named {}", quote(input.name())));
    if (stored_.contains(input.name())) continue;
    if (!input.type().has_tensor_type()) fail(fmt::format("the input {} is not a tensor", quote(input.name())));
    const auto& type = input.type().tensor_type();
    if (!type.has_shape()) {
      fail(fmt::format("the input {} has no shape", quote(input.name())),
           "export the network with an example of its input, or run ONNX shape inference on it");
    }
    const auto& dimensions = type.shape().dim();
    const bool symbolic = std::any_of(dimensions.begin(), dimensions.end(), is_symbolic);
    const bool is_weight =
        weights.contains(input.name()) || (!stores_weights && !data_.empty() && !symbolic && !is_integral(type.elem_type()));
    std::vector<std::int64_t> shape;
    for (int i = 0; i < dimensions.size(); ++i) {
      if (!is_symbolic(dimensions[i])) {
        shape.push_back(dimensions[i].dim_value());
      } else if (i == 0 && !is_weight) {
        shape.push_back(1);
      } else {
        fail(
            fmt::format(
                "dimension {} of the input {} has no size{}", i, quote(input.name()),
                dimensions[i].dim_param().empty() ? "" : fmt::format(", but the name {}", quote(dimensions[i].dim_param()))),
            "only dimension 0, the batch, may be left open: export the others with a fixed size");
      }
    }
    check_sizes(shape, input.name(), origin_);
    if (is_weight) {
      stored_.emplace(input.name(), StoredTensor{.shape = std::move(shape), .numbers = {}});
    } else {
      data_.push_back({.name = input.name(), .shape = std::move(shape), .integral = is_integral(type.elem_type())});
    }
  }
  if (data_.empty()) fail("the graph has no input", "a network has an input, such as images or tokens");
}

void Graph::read_nodes() {
  const onnx::GraphProto& graph = file_.graph();
  std::unordered_map<std::string, int> maker;  // -1: available from the start
  for (const auto& [name, tensor] : stored_) maker.emplace(name, -1);
  for (const DataInput& input : data_) maker.emplace(input.name, -1);
  std::unordered_set<std::string> made;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) made.insert(output);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    for (const std::string& input : node.input()) {
      if (input.empty() || maker.contains(input)) continue;
      fail(node,
           made.contains(input) ? fmt::format("{} is produced by this node or a later one", quote(input))
                                : fmt::format("no node produces {}", quote(input)),
           "the nodes of a graph must be in execution order, without cycles");
    }
    for (const std::string& output : node.output()) {
      if (!output.empty() && !maker.emplace(output, i).second)
        fail(node, fmt::format("{} is produced twice", quote(output)));
    }
  }

  std::vector<bool> needed(static_cast<std::size_t>(graph.node_size()), false);
  const auto need = [&](const std::string& tensor) {
    ++uses_[tensor];
    const auto found = maker.find(tensor);
    if (found != maker.end() && found->second >= 0) needed[static_cast<std::size_t>(found->second)] = true;
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!maker.contains(output.name())) fail(fmt::format("no node produces the output {}", quote(output.name())));
    need(output.name());
  }
  if (graph.output_size() == 0) fail("the graph has no output");
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    for (const std::string& input : graph.node(i).input()) need(input);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    check_operator(graph.node(i));
    nodes_.push_back(&graph.node(i));
  }
}

void Graph::check_operator(const onnx::NodeProto& node) const {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return;
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, "");
  if (schema == nullptr) return;  // reported when it is translated
  try {
    schema->Verify(node);
  } catch (const std::exception& problem) {
    fail(node, fmt::format("the node violates the definition of its operator in ONNX: {}", quote(problem.what())));
  }
}

int Graph::uses(const std::string& tensor) const {
  const auto found = uses_.find(tensor);
  return found == uses_.end() ? 0 : found->second;
}

void Graph::fail(const onnx::NodeProto& node, std::string_view problem, std::string hint) const {
  fail(fmt::format("{}: {}", description_of(node), problem), std::move(hint));
}

void Graph::fail(std::string_view problem, std::string hint) const {
  throw Error(fmt::format("{}: {}", origin_, problem), std::move(hint));
}

std::string description_of(const onnx::NodeProto& node) {
  constexpr int most_shown = 4;
  std::string inputs;
  for (int i = 0; i < std::min(node.input_size(), most_shown); ++i) {
    inputs += fmt::format("{}{}", i == 0 ? " of " : ", ", quote(node.input(i)));
  }
  if (node.input_size() > most_shown) inputs += ", …";
  const std::string domain = node.domain().empty() || node.domain() == "ai.onnx" ? "" : node.domain() + ".";
  // quote() removes unprintable characters.
  std::string operation = quote(domain + node.op_type());
  operation = operation.substr(1, operation.size() - 2);
  return fmt::format("node {} ({}{})", quote(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()),
                     operation, inputs);
}

StoredTensor stored_tensor(const onnx::TensorProto& tensor, const std::string& name, const std::string& origin) {
  StoredTensor result{.shape = {tensor.dims().begin(), tensor.dims().end()}, .numbers = {}};
  check_sizes(result.shape, name, origin);
  result.numbers = numbers_of(tensor, result.shape);
  return result;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise) {
  const onnx::AttributeProto* const attribute = find_attribute(node, name);
  return attribute != nullptr ? attribute->i() : otherwise;
}

double real_attribute(const onnx::NodeProto& node, std::string_view name, double otherwise) {
  const onnx::AttributeProto* const attribute = find_attribute(node, name);
  return attribute != nullptr ? static_cast<double>(attribute->f()) : otherwise;
}

std::string text_attribute(const onnx::NodeProto& node, std::string_view name, std::string_view otherwise) {
  const onnx::AttributeProto* const attribute = find_attribute(node, name);
  return attribute != nullptr ? attribute->s() : std::string(otherwise);
}

std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* const attribute = find_attribute(node, name);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

}  // namespace ddl::onnx_import
