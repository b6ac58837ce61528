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

/// A function of one number, as its values at `sample_points()`: what a chain of elementwise operators does to an item.
using Function = std::shared_ptr<const std::vector<double>>;

/// How far a normalization that the graph spells out has come: what the value is, seen from the tensor x it normalizes.
struct Moment {
  enum class Part {
    mean,        ///< of x
    centred,     ///< x less its mean
    squares,     ///< of what is centred
    variance,    ///< mean of the squares; with something small added, or not
    deviation,   ///< its root
    inverse,     ///< one divided by that
    normalized,  ///< x in units of its deviation
    scaled,      ///< times the trained scale
  };
  Part part = Part::mean;
  bool centres = true;      ///< root-mean-square norms take no mean off
  std::int64_t groups = 0;  ///< of a group norm
};

/// How far an attention that the graph spells out has come.
struct Scores {
  View queries, keys;
  bool normalized = false;  ///< by the softmax
  bool causal = false;
  double dropout = 0;
};

/// One tensor of the graph, as far as it is understood.
struct Value {
  enum class Kind {
    stored,   ///< weights, constants, and what is only they rearranged
    side,     ///< comes of other inputs or of weights; what is in it does not matter or is not known
    network,  ///< a view of a tensor of the network
  };
  Kind kind = Kind::side;

  // Stored, and side where known.
  std::optional<std::vector<std::int64_t>> shape{};
  std::shared_ptr<const Numbers> numbers{};  ///< what is in it, where that is known
  std::string source{};                      ///< the stored tensor it comes from; of a norm under way, its scale
  std::vector<std::int64_t> source_shape{};  ///< before it was rearranged
  bool named = false;                        ///< the source is a tensor of the file, not a constant that the graph computes
  bool integral = false;
  bool tokens = false;     ///< the model's input itself, of the view below, to be looked up in a table
  bool of_tokens = false;  ///< computed of the model's input, and no longer it
  bool causal = false;     ///< a mask that hides what comes later, or is likely to

  // Of the network: `function` of each item of the view; none is the item itself.
  View view{};
  Function function{};
  const onnx::NodeProto* maker = nullptr;  ///< the elementwise operator that made `function`
  int operators = 0;                       ///< how many did
  std::optional<Moment> moment{};
  std::shared_ptr<const Scores> scores{};
  std::vector<std::int64_t> pads{};  ///< of the positions, all before and all after, still to be taken in by a window

  /// Of stored ones: whether it is all of the tensor that it comes from.
  [[nodiscard]] bool is_whole() const {
    const auto items = [](const std::vector<std::int64_t>& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    };
    return shape && items(*shape) == items(source_shape);
  }
  [[nodiscard]] bool is_network() const { return kind == Kind::network; }
  /// Nothing but a view.
  [[nodiscard]] bool is_plain() const { return is_network() && !function && !moment && !scores && pads.empty(); }
};

}  // namespace ddl::onnx_import
