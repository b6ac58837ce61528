#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>
#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/numbers.hpp"

namespace ddl::onnx_import {

/// A tensor that the file stores, or an input that is not data: the shape, and the content if it is
/// small and in the file itself. External data is never opened.
struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::optional<Numbers> numbers;
};

/// An input of the graph that is data, such as images or tokens.
struct DataInput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< a first size without a number in the file is 1, for one sample
  bool integral = false;
};

/// The content of an ONNX file. All checks that do not require the meaning of operators have been made.
class Graph {
 public:
  /// Throws Error if the file is not ONNX, has an opset other than 7 to 28, has names that are missing, defined twice or
  /// defined later, has sizes that are unknown or too large, or has an operator with wrong attributes or a wrong number of
  /// inputs. `input_shape`: the dynamic sizes of the first input.
  Graph(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin,
        const std::vector<std::int64_t>& input_shape = {});

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] int opset() const { return opset_; }
  [[nodiscard]] const onnx::ModelProto& file() const { return file_; }
  [[nodiscard]] const std::vector<DataInput>& data() const { return data_; }
  [[nodiscard]] const std::unordered_map<std::string, StoredTensor>& stored() const { return stored_; }
  /// Returns the nodes in the order of the file, except nodes on which no output depends.
  [[nodiscard]] const std::vector<const onnx::NodeProto*>& nodes() const { return nodes_; }
  /// Returns how many times nodes() read a tensor, plus 1 if the tensor is an output of the graph.
  [[nodiscard]] int uses(const std::string& tensor) const;

  /// Returns whether the ONNX library knows the operator as the file's opset defines it.
  [[nodiscard]] bool is_known(const onnx::NodeProto& node) const;

  /// Throws Error if the node violates the definition of its operator.
  void check_operator(const onnx::NodeProto& node) const;

  /// Throws Error about a node, with the node's position, operator and inputs, and the problem.
  [[noreturn]] void fail(const onnx::NodeProto& node, std::string_view problem, std::string hint = {}) const;
  [[noreturn]] void fail(std::string_view problem, std::string hint = {}) const;

 private:
  void read_stored();
  void read_inputs(const std::vector<std::int64_t>& given);
  void check_given(const onnx::ValueInfoProto& input, const std::vector<std::int64_t>& given) const;
  [[nodiscard]] std::vector<std::int64_t> sizes_of_weight(const onnx::ValueInfoProto& input) const;
  void read_nodes();
  void check_opset();

  std::string origin_;
  onnx::ModelProto file_;
  int opset_ = 0;
  std::vector<DataInput> data_;
  std::unordered_map<std::string, StoredTensor> stored_;
  std::vector<const onnx::NodeProto*> nodes_;
  std::unordered_map<std::string, int> uses_;
};

/// Returns a description of a node: `node '/conv1/Conv' (Conv of 'input', 'conv1.weight')`
[[nodiscard]] std::string description_of(const onnx::NodeProto& node);
/// Throws Error if a tensor has too many, too large or negative sizes.
void check_sizes(const std::vector<std::int64_t>& shape, const std::string& name, const std::string& origin);
/// Returns `tensor` as a stored tensor. Throws Error that contains `name` if the tensor's sizes are invalid.
[[nodiscard]] StoredTensor stored_tensor(const onnx::TensorProto& tensor, const std::string& name,
                                         const std::string& origin);

// The following functions return attributes, or their ONNX defaults if the node does not give them.
[[nodiscard]] const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
[[nodiscard]] std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise);
[[nodiscard]] double real_attribute(const onnx::NodeProto& node, std::string_view name, double otherwise);
[[nodiscard]] std::string text_attribute(const onnx::NodeProto& node, std::string_view name, std::string_view otherwise);
[[nodiscard]] std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name);

}  // namespace ddl::onnx_import
