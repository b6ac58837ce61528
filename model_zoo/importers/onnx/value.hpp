#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/numbers.hpp"
#include "model_zoo/importers/onnx/view.hpp"

namespace ddl::onnx_import {

/// A function of one number, represented by its values at `sample_points()`: the effect of a chain of elementwise operators
/// on an item.
using Function = std::shared_ptr<const std::vector<double>>;

/// An intermediate value of a normalization that the graph spells out, in terms of x, the normalized tensor.
struct Moment {
  enum class Part {
    mean,        ///< the mean of x
    centred,     ///< x minus its mean
    squares,     ///< squares of the centred values
    variance,    ///< mean of the squares; with or without epsilon
    deviation,   ///< square root of the mean of the squares
    inverse,     ///< reciprocal of the square root
    normalized,  ///< x divided by its deviation
    scaled,      ///< x divided by its deviation, times the trained scale
  };
  Part part = Part::mean;
  bool centres = true;      ///< root-mean-square norms do not subtract the mean
  std::int64_t groups = 0;  ///< number of groups of a group norm
};

/// Intermediate scores of an attention that the graph spells out.
struct Scores {
  View queries, keys;
  bool normalized = false;  ///< whether these are the scores after the softmax
  bool causal = false;
  double dropout = 0;
};

/// What is known about a tensor of the graph.
struct Value {
  enum class Kind {
    stored,   ///< weights, constants, and rearrangements of them
    side,     ///< derived from other inputs or from weights; its content does not matter or is not known
    network,  ///< a view of a tensor of the network
  };
  Kind kind = Kind::side;

  // Shape of stored values, and of side values if it is known.
  std::optional<std::vector<std::int64_t>> shape{};
  std::shared_ptr<const Numbers> numbers{};  ///< the tensor's content, if known
  std::string source{};                      ///< the stored tensor it is derived from; for an incomplete norm, its scale
  std::vector<std::int64_t> source_shape{};  ///< shape of the source before rearrangement
  bool named = false;                        ///< whether the source is a tensor of the file, and not a computed constant
  bool integral = false;
  bool tokens = false;     ///< the model's input itself (with the view below), which is to be looked up in a table
  bool of_tokens = false;  ///< computed from the model's input, but different from it
  bool left_out = false;   ///< computed after the end of the network
  bool filled = false;     ///< equal numbers that the graph generates in place of stored weights
  bool causal = false;     ///< a mask that hides later tokens, or probably does

  // For a tensor of the network: `function` is applied to each item of the view; null is the identity.
  View view{};
  Function function{};
  const onnx::NodeProto* maker = nullptr;  ///< the elementwise operator that produced `function`
  int operators = 0;                       ///< number of operators in `function`
  std::optional<Moment> moment{};
  std::shared_ptr<const Scores> scores{};
  std::vector<std::int64_t> pads{};  ///< padding of positions, first all before, then all after, not yet merged into a
                                     ///< window

  /// For stored values: whether this is the complete source tensor.
  [[nodiscard]] bool is_whole() const {
    const auto items = [](const std::vector<std::int64_t>& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    };
    return shape && items(*shape) == items(source_shape);
  }
  [[nodiscard]] bool is_network() const { return kind == Kind::network; }
  /// Whether the value is only a view, without a function.
  [[nodiscard]] bool is_plain() const { return is_network() && !function && !moment && !scores && pads.empty(); }
};

}  // namespace ddl::onnx_import
