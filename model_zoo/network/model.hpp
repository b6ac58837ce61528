#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// One layer: an operation with its place in the graph and its inferred shapes.
struct Layer {
  std::string name;  ///< unique path: `stage2.block1.conv1`
  std::shared_ptr<const Operation> operation;
  /// Producers, as indices into Model::layers, all smaller than this layer's own; -1 is the model's input.
  std::vector<int> inputs;
  std::vector<TensorShape> input_shapes;
  TensorShape output_shape;
  std::int64_t weights = 0;
  std::int64_t biases = 0;
  std::int64_t buffers = 0;
  std::int64_t frozen = 0;  ///< number of weights and biases that are not trained
  /// Index of an earlier layer whose weights this layer shares (tied embedding), or -1. A layer that shares weights has 0
  /// `weights`, but its work is counted.
  int tied_to = -1;
  /// The repeated unit (residual block, transformer layer) that contains this layer; -1 outside of blocks. Checkpointing
  /// keeps the inputs of blocks.
  int block = -1;
  /// Layers with equal operation, attributes and shapes have the same class: costs are computed once per class.
  int shape_class = -1;
  /// Whether only training needs this layer, such as a second classifier in the middle of a network.
  bool auxiliary = false;

  [[nodiscard]] std::int64_t parameters() const { return weights + biases; }
  [[nodiscard]] std::int64_t trained() const { return parameters() - frozen; }
};

/// A network: layers in topological order (file order), shapes inferred, for one sample.
struct Model {
  std::string name;
  std::string description;
  std::string source;  ///< the source of the definition
  /// The family of its layers, as named in its file, and the value of each of the family's parameters as text; empty if the
  /// file contains the layers itself.
  std::string family;
  std::vector<std::pair<std::string, std::string>> family_parameters;
  TensorShape input;
  std::optional<std::int64_t> usual_batch;  ///< usual number of samples per device, if the file gives it
  std::int64_t sequence_length = 0;         ///< tokens per sample; 0 for other models
  std::vector<Layer> layers;
  int shape_classes = 0;
  int blocks = 0;
  std::vector<std::string> warnings;  ///< warnings about parts that an import left out or assumed, one line each

  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::int64_t trained_parameters() const;
  [[nodiscard]] std::int64_t buffers() const;
  /// The value of a parameter of the family; empty if the family has no parameter of that name.
  [[nodiscard]] std::string family_parameter(std::string_view wanted) const;
  /// Multiply-adds of one sample's forward pass by the convention of publications: without auxiliary layers.
  [[nodiscard]] double macs() const;
  [[nodiscard]] double flops_forward() const;
  [[nodiscard]] double flops(Pass pass) const;
};

/// Returns whether a layer has weights, none of which are trained. Weights shared with another layer count, too.
[[nodiscard]] bool is_frozen(const Model& model, const Layer& layer);

/// Output shape of layer `index`, or the model's input for -1.
[[nodiscard]] const TensorShape& shape_of(const Model& model, int index);

}  // namespace ddl
