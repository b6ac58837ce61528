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

// The limits are far above the sizes of any network, but graphs within the limits are processed fast.
constexpr int most_nodes = 200'000;
constexpr int most_dimensions = 16;
constexpr std::int64_t largest_size = std::int64_t{1} << 31U;
constexpr std::int64_t most_items = std::int64_t{1} << 53U;
// The file supports these opsets. Before opset 7, attributes controlled broadcasting. This file and
// the translators handle the changes of each opset up to 28.
constexpr int oldest_opset = 7;
constexpr int newest_opset = 28;

/// Returns the elements of a packed tensor; empty if the number of bytes is wrong.
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

/// An operator that gained inputs or attributes in an opset. A library that knows only an older
/// opset cannot check such an operator (https://github.com/onnx/onnx/blob/main/docs/Changelog.md).
struct Change {
  std::string_view operation;
  int opset;
};
constexpr Change changes[] = {
    {"AveragePool", 19},
    {"Cast", 19},
    {"CastLike", 19},
    {"DFT", 20},
    {"DequantizeLinear", 21},
    {"LpPool", 18},
    {"Pad", 18},
    {"Range", 27},
    {"QuantizeLinear", 19},
    {"ReduceL1", 18},
    {"ReduceL2", 18},
    {"ReduceLogSum", 18},
    {"ReduceMax", 18},
    {"ReduceMean", 18},
    {"ReduceLogSumExp", 18},
    {"ReduceMin", 18},
    {"ReduceProd", 18},
    {"Resize", 18},
    {"SpaceToDepth", 28},
    {"ReduceSumSquare", 18},
    {"Split", 18},
    {"Attention", 24},
    {"GroupNormalization", 21},
};

bool is_older_than_file(const onnx::OpSchema& schema, const std::string& operation, int opset) {
  return std::any_of(std::begin(changes), std::end(changes), [&](const Change& change) {
    return change.operation == operation && change.opset <= opset && schema.since_version() < change.opset;
  });
}

}  // namespace

void check_sizes(const std::vector<std::int64_t>& shape, const std::string& name, const std::string& origin) {
  if (shape.size() > most_dimensions) {
    throw Error(fmt::format("{}: {} has {} dimensions", origin, quote(name), shape.size()));
  }
  std::int64_t items = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) throw Error(fmt::format("{}: {} has a dimension of {}", origin, quote(name), size));
    if (size > largest_size || (size > 0 && items > most_items / size)) {
      throw Error(fmt::format("{}: {} is too large: {}", origin, quote(name), fmt::join(shape, " x ")),
                  "a size is at most 2^31, and a tensor has at most 2^53 elements");
    }
    items *= std::max<std::int64_t>(size, 1);
  }
}

Graph::Graph(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin,
             const std::vector<std::int64_t>& input_shape)
    : origin_(origin) {
  // Without this call, protobuf would print its own message before the program's message.
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
  read_inputs(input_shape);
  read_nodes();
}

void Graph::check_opset() {
  for (const auto& opset : file_.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() < oldest_opset || opset.version() > newest_opset) {
      fail(
          fmt::format("the file has opset {}, but only {} to {} are supported", opset.version(), oldest_opset, newest_opset),
          opset.version() < oldest_opset
              ? "convert it: onnx.version_converter.convert_version(model, 17), or export it again with opset 17"
              : "export it with an older opset: torch.onnx.export(…, opset_version=17)");
    }
    opset_ = static_cast<int>(opset.version());
  }
  if (opset_ == 0 && file_.opset_import_size() > 0) {
    fail(fmt::format("the graph has only operators of {}, which are not layers of a network",
                     quote(file_.opset_import(0).domain())),
         "networks have operators of ONNX's own domain, such as Conv and MatMul");
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

void Graph::read_nodes() {
  const onnx::GraphProto& graph = file_.graph();
  std::unordered_map<std::string, int> maker;  // node that writes a tensor; -1: available before the first node
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
  // Marks the tensors that graphs inside a node read, such as the branches of an If.
  const auto need_inside = [&](const auto& self, const onnx::NodeProto& node) -> void {
    for (const std::string& input : node.input()) need(input);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      for (const onnx::NodeProto& inner : attribute.g().node()) self(self, inner);
      for (const onnx::ValueInfoProto& output : attribute.g().output()) need(output.name());
    }
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!maker.contains(output.name())) fail(fmt::format("no node produces the output {}", quote(output.name())));
    need(output.name());
  }
  if (graph.output_size() == 0) fail("the graph has no output");
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    need_inside(need_inside, graph.node(i));
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    check_operator(graph.node(i));
    nodes_.push_back(&graph.node(i));
  }
}

bool Graph::is_known(const onnx::NodeProto& node) const {
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, "");
  return schema != nullptr && !is_older_than_file(*schema, node.op_type(), opset_);
}

void Graph::check_operator(const onnx::NodeProto& node) const {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return;
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset_, "");
  if (!is_known(node)) return;  // an unknown operator is reported when it is translated
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
