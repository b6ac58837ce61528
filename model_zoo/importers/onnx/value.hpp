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

/// The function of one number that a chain of elementwise operators applies to each element,
/// represented by its values at `sample_points()`.
using Function = std::shared_ptr<const std::vector<double>>;

/// An intermediate value of a normalization that consists of several operators. x is the tensor that is normalized.
struct Moment {
  enum class Part {
    mean,        ///< the mean of x
    centred,     ///< x minus its mean
    squares,     ///< squares of the centered values
    variance,    ///< mean of the squares; with or without epsilon
    deviation,   ///< square root of the mean of the squares
    inverse,     ///< reciprocal of the square root
    normalized,  ///< x divided by its deviation
    scaled,      ///< x divided by its deviation, times the trained scale
  };
  Part part = Part::mean;
  bool centres = true;      ///< whether the norm subtracts the mean, which root-mean-square norms do not
  std::int64_t groups = 0;  ///< number of groups of a group norm
};

/// Intermediate scores of attention that consists of several operators.
struct Scores {
  View queries, keys;
  bool normalized = false;  ///< whether these are the scores after the softmax
  bool causal = false;
  bool has_soft_cap = false;  ///< whether a tanh limits the scores
  double dropout = 0;
};

/// The known properties of a tensor of the graph.
struct Value {
  enum class Kind {
    stored,   ///< weights, constants, and rearrangements of them
    side,     ///< a value that is derived from other inputs or from weights, with content that is irrelevant or unknown
    network,  ///< a view of a tensor of the network
  };
  Kind kind = Kind::side;

  // The shape of a stored value; of a side value, the shape if it is known.
  std::optional<std::vector<std::int64_t>> shape{};
  std::shared_ptr<const Numbers> numbers{};  ///< the tensor's content, if known
  std::string source{};                      ///< stored tensor that this is derived from; for an incomplete norm, its scale
  std::vector<std::int64_t> source_shape{};  ///< shape of the source before rearrangement
  bool named = false;                        ///< whether the source is a tensor of the file, and not a computed constant
  bool integral = false;
  bool tokens = false;     ///< whether this is the model's input itself, with the view below, before a table looks it up
  bool of_tokens = false;  ///< whether this is computed from the model's input, but different from it
  bool left_out = false;   ///< whether this is computed after the end of the network
  bool filled = false;     ///< whether this consists of equal numbers that the graph generates in place of stored weights
  bool causal = false;     ///< whether this is a mask that hides, or probably hides, later tokens

  // For a tensor of the network, a function that is applied to each element of the view; null is the identity.
  View view{};
  Function function{};
  const onnx::NodeProto* maker = nullptr;  ///< the elementwise operator that produced `function`
  int operators = 0;                       ///< number of operators in `function`
  std::optional<Moment> moment{};
  std::shared_ptr<const Scores> scores{};
  std::vector<std::int64_t> pads{};  ///< padding of positions that no window has applied yet: all starts, then all ends

  /// Returns whether a stored value is the complete source tensor.
  [[nodiscard]] bool is_whole() const {
    const auto items = [](const std::vector<std::int64_t>& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    };
    return shape && items(*shape) == items(source_shape);
  }
  [[nodiscard]] bool is_network() const { return kind == Kind::network; }
  /// Returns whether the value is only a view, without a function.
  [[nodiscard]] bool is_plain() const { return is_network() && !function && !moment && !scores && pads.empty(); }
};

}  // namespace ddl::onnx_import
