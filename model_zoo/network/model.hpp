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

/// One layer of a model: an operation, its place in the graph, and its inferred shapes.
struct Layer {
  std::string name;  ///< unique path: `stage2.block1.conv1`
  std::shared_ptr<const Operation> operation;
  /// The layers that produce the inputs, as indices into Model::layers, all smaller than the index
  /// of this layer; -1 is the model's input.
  std::vector<int> inputs;
  std::vector<TensorShape> input_shapes;
  TensorShape output_shape;
  std::int64_t weights = 0;
  std::int64_t biases = 0;
  std::int64_t buffers = 0;
  std::int64_t frozen = 0;  ///< number of weights and biases that are not trained
  /// Index of an earlier layer that owns the weights of this layer (tied embedding); -1 if the
  /// layer owns its weights. A layer with shared weights has 0 `weights`, but its work is included.
  int tied_to = -1;
  /// Index of the repeated unit (residual block, transformer layer) that contains this layer; -1
  /// outside of blocks. Checkpointing keeps the inputs of blocks.
  int block = -1;
  /// Index of the layer's class. Layers with equal operation, attributes and shapes have the same
  /// class, so costs are computed once per class.
  int shape_class = -1;
  /// Whether only training needs this layer, such as the layer of a second classifier in the middle of a network.
  bool auxiliary = false;

  [[nodiscard]] std::int64_t parameters() const { return weights + biases; }
  [[nodiscard]] std::int64_t trained() const { return parameters() - frozen; }
};

/// A network, with its layers in topological order (the order of the file), and with inferred shapes of one sample.
struct Model {
  std::string name;
  std::string description;
  std::string source;  ///< source of the model's definition, such as a paper
  /// The family that the model's file names, and the value of each parameter of the family as text;
  /// empty if the file itself contains the layers.
  std::string family;
  std::vector<std::pair<std::string, std::string>> family_parameters;
  TensorShape input;
  std::optional<std::int64_t> usual_batch;  ///< usual number of samples per device, if the file gives it
  std::int64_t sequence_length = 0;         ///< tokens per sample; 0 for models without sequences
  std::vector<Layer> layers;
  int shape_classes = 0;
  int blocks = 0;
  std::vector<std::string> warnings;  ///< warnings about parts that an import left out or assumed, one line each

  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::int64_t trained_parameters() const;
  [[nodiscard]] std::int64_t buffers() const;
  /// Returns the value of a parameter of the family; empty if the family has no parameter of that name.
  [[nodiscard]] std::string family_parameter(std::string_view wanted) const;
  /// Returns the multiply-adds of one sample's forward pass by the convention of publications,
  /// which leaves out auxiliary layers.
  [[nodiscard]] double macs() const;
  [[nodiscard]] double flops_forward() const;
  [[nodiscard]] double flops(Pass pass) const;
};

/// Returns whether a layer has weights, and none of them are trained. Weights that another layer owns are included.
[[nodiscard]] bool is_frozen(const Model& model, const Layer& layer);

/// Returns the output shape of layer `index`; for -1, the shape of the model's input.
[[nodiscard]] const TensorShape& shape_of(const Model& model, int index);

}  // namespace ddl
