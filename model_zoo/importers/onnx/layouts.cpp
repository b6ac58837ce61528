// Brings a tensor into the layout that a layer needs. If a view of the tensor is not sufficient,
// layers that cut, shuffle or reshape the tensor are added.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

std::string size_text(const TensorShape& shape) {
  return fmt::format("{}", fmt::join(shape.extent.begin(), shape.extent.begin() + shape.rank, "x"));
}

NetworkLayer reshape_layer(int from, const TensorShape& shape) {
  NetworkLayer layer{.operation = "reshape",
                     .attributes = {{"channels", fmt::to_string(shape.channels)}},
                     .inputs = {from},
                     .shape = shape,
                     .name = shape.sequence   ? "tokens"
                             : shape.rank > 0 ? "image"
                                              : "features"};
  if (shape.rank > 0) layer.set(shape.sequence ? "tokens" : "size", size_text(shape));
  return layer;
}

bool is_of_samples(const Dimension& dimension) {
  return std::all_of(dimension.begin(), dimension.end(), [](const Atom& atom) { return atom.axis == batch; });
}

}  // namespace

View Translation::gathered(const onnx::NodeProto& node, const View& view) {
  const TensorShape shape = network_.shape(view.tensor);
  if (view.tensor >= 0 && network_.layers[static_cast<std::size_t>(view.tensor)].removed) {
    graph_.fail(node, "the node reads queries, keys or values of an attention whose matrices were merged into one layer");
  }
  if (sees_all(view, shape)) return view;
  if (!atoms_of(view, repeated).empty()) return repeated_copy(node, view);
  const std::int64_t tokens = shape.extent[0];
  const bool all_channels = view.offset[channels] == 0 && size_of(atoms_of(view, channels)) == shape.channels;
  const bool one_token = shape.sequence && atoms_of(view, first_position).empty() && tokens > 1;
  if (all_channels && one_token && (view.offset[first_position] == 0 || view.offset[first_position] == tokens - 1)) {
    View one = view;
    one.offset[first_position] = 0;
    NetworkLayer layer{.operation = "select",
                       .attributes = {{"token", view.offset[first_position] == 0 ? "first" : "last"}},
                       .inputs = {view.tensor},
                       .shape = {.channels = shape.channels}};
    layer.name = layer_name(node, {}, "select");
    one.tensor = network_.add_once(std::move(layer));
    return one;
  }
  TensorShape inner;
  auto rest = compacted(view, shape, inner);
  if (!rest) unsupported(node, "an element of a tensor is read several times, which no layer supports", "");
  TensorShape narrow = shape;
  narrow.channels = inner.channels;
  if (narrow.channels != shape.channels) {
    // The cost depends on the number of channels, not on which channels they are.
    const std::int64_t first = std::min(view.offset[channels], shape.channels - narrow.channels);
    NetworkLayer layer{.operation = "slice",
                       .attributes = {{"first", fmt::to_string(first)}, {"channels", fmt::to_string(narrow.channels)}},
                       .inputs = {rest->tensor},
                       .shape = narrow};
    layer.name = layer_name(node, {}, "slice");
    rest->tensor = network_.add_once(std::move(layer));
  }
  if (inner.extent != shape.extent) {
    NetworkLayer layer{.operation = shape.sequence ? "pick" : "crop", .inputs = {rest->tensor}, .shape = inner};
    layer.set(shape.sequence ? "tokens" : "size", size_text(inner));
    layer.name = layer_name(node, {}, layer.operation);
    rest->tensor = network_.add_once(std::move(layer));
  }
  return std::move(*rest);
}

View Translation::repeated_copy(const onnx::NodeProto& node, const View& view) {
  View once = view;
  std::int64_t copies = 1;
  for (Dimension& dimension : once.dimensions) {
    for (const Atom& atom : dimension) copies *= atom.axis == repeated ? atom.size : 1;
    std::erase_if(dimension, [](const Atom& atom) { return atom.axis == repeated; });
  }
  once = gathered(node, once);
  TensorShape shape{.channels = network_.shape(once.tensor).items(), .extent = {1, 1, 1}, .rank = 1};
  constexpr std::int64_t most_items = std::int64_t{1} << 53U;
  if (copies > most_items / shape.channels) graph_.fail(node, "the tensor becomes too large when it is repeated");
  // Each element is copied for each position, as in a resize.
  const int flat = network_.add_once(reshape_layer(once.tensor, shape));
  shape.extent[0] = copies;
  NetworkLayer layer{.operation = "resize",
                     .attributes = {{"kind", "nearest"}, {"size", fmt::to_string(copies)}},
                     .inputs = {flat},
                     .shape = shape};
  layer.name = layer_name(node, {}, "repeat");
  View result{.tensor = network_.add_once(std::move(layer)), .dimensions = view.dimensions};
  std::int64_t channel_stride = 1, copy_stride = 1;
  for (std::size_t d = result.dimensions.size(); d > 0; --d) {
    Dimension& dimension = result.dimensions[d - 1];
    for (std::size_t i = dimension.size(); i > 0; --i) {
      Atom& atom = dimension[i - 1];
      if (atom.axis == batch) continue;
      std::int64_t& stride = atom.axis == repeated ? copy_stride : channel_stride;
      atom = {.axis = atom.axis == repeated ? first_position : channels, .size = atom.size, .stride = stride};
      stride *= atom.size;
    }
    tidy(dimension);
  }
  return result;
}

View Translation::broadcast_to(const onnx::NodeProto& node, View view, const std::vector<std::int64_t>& sizes) {
  view.dimensions.insert(view.dimensions.begin(), sizes.size() - view.dimensions.size(), Dimension());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (size_of(view.dimensions[d]) != sizes[d]) view.dimensions[d] = {{.axis = repeated, .size = sizes[d], .stride = 0}};
  }
  return gathered(node, view);
}

View Translation::with_tokens(const View& view) {
  const TensorShape shape = network_.shape(view.tensor);
  if (shape.sequence || shape.rank == 0) return view;
  View result = view;
  std::array<std::int64_t, 4> stride{1, 1, 1, 1};
  for (int d = shape.rank - 1; d > 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    stride[at] = stride[at + 1] * shape.extent[at];
  }
  for (Dimension& dimension : result.dimensions) {
    for (Atom& atom : dimension) {
      if (atom.axis < first_position) continue;
      atom.stride *= stride[static_cast<std::size_t>(atom.axis)];
      atom.axis = first_position;
    }
    tidy(dimension);
  }
  const TensorShape tokens{.channels = shape.channels, .extent = {shape.positions(), 1, 1}, .rank = 1, .sequence = true};
  result.tensor = network_.add_once(reshape_layer(view.tensor, tokens));
  return result;
}

View Translation::relaid(const View& view, const std::vector<int>& axes, bool sequence) {
  View result{.tensor = view.tensor, .dimensions = view.dimensions};
  std::array<std::int64_t, 4> seen{1, 1, 1, 1};
  int rank = sequence ? 1 : 0;
  for (std::size_t d = result.dimensions.size(); d > 0; --d) {
    const int axis = axes[d - 1];
    Dimension& dimension = result.dimensions[d - 1];
    for (std::size_t i = dimension.size(); i > 0; --i) {
      Atom& atom = dimension[i - 1];
      if (atom.axis == batch) continue;
      std::int64_t& stride = seen[static_cast<std::size_t>(axis)];
      atom = {.axis = axis, .size = atom.size, .stride = stride};
      stride *= atom.size;
    }
    tidy(dimension);
    rank = std::max(rank, axis);
  }
  const TensorShape shape{
      .channels = seen[channels], .extent = {seen[1], seen[2], seen[3]}, .rank = rank, .sequence = sequence};
  if (shape == network_.shape(view.tensor) && result.dimensions == view.dimensions) return view;
  result.tensor = network_.add_once(reshape_layer(view.tensor, shape));
  return result;
}

View Translation::fresh(const onnx::NodeProto& node, const View& view, const std::vector<std::int64_t>& sizes) {
  const Dimension samples = view.dimensions.empty() ? Dimension() : view.dimensions[0];
  const bool has_batch = !atoms_of(view, batch).empty();
  const bool keeps = is_of_samples(samples) && !sizes.empty() && sizes[0] == size_of(samples);
  if (has_batch && !keeps) {
    unsupported(node, "the samples of the batch are mixed with other dimensions",
                "export the network with batch size 1, or with a dynamic batch axis");
  }
  const bool sequence = network_.shape(view.tensor).sequence;
  const std::size_t rank = sizes.size();
  View target{.tensor = view.tensor, .dimensions = std::vector<Dimension>(rank)};
  std::vector<int> axes(rank, first_position);
  for (std::size_t d = 0; d < rank; ++d) target.dimensions[d] = whole(channels, sizes[d]);
  if (has_batch) target.dimensions[0] = samples;
  // Channels are second as in images, or last as in rows.
  const bool rows = !keeps || rank < 3 || (sequence && rank == 3);
  if (rank > 0) axes[rows ? rank - 1 : 1] = channels;
  for (std::size_t d = 2; d < rank && !rows; ++d) {
    axes[d] = std::min(first_position + static_cast<int>(d) - 2, most_positions);
  }
  return relaid(target, axes, rows && (rank > 2 || (rank == 2 && !keeps)));
}

View Translation::shuffled(const onnx::NodeProto& node, const View& view) {
  const TensorShape shape = network_.shape(view.tensor);
  if (view.dimensions.size() < 2 || shape.rank == 0 || shape.sequence || !sees_all(view, shape)) return view;
  const Dimension& mixed = view.dimensions[1];
  const bool splits = mixed.size() == 2 && mixed[0].axis == channels && mixed[1].axis == channels && mixed[0].stride == 1 &&
                      mixed[1].stride == mixed[0].size && mixed[0].size * mixed[1].size == shape.channels;
  if (!splits) return view;
  NetworkLayer layer{.operation = "channel_shuffle",
                     .attributes = {{"groups", fmt::to_string(mixed[1].size)}},
                     .inputs = {view.tensor},
                     .shape = shape};
  View result = view;
  result.dimensions[1] = whole(channels, shape.channels);
  result.tensor = add_layer(node, std::move(layer), "shuffle");
  return result;
}

View Translation::padded(const onnx::NodeProto& node, const Value& value) {
  // The padding is a copy into a larger tensor, as in a resize.
  TensorShape shape = network_.shape(value.view.tensor);
  const std::size_t rank = value.pads.size() / 2;
  for (std::size_t d = 0; d < rank; ++d) shape.extent[d] += value.pads[d] + value.pads[rank + d];
  NetworkLayer layer{.operation = "resize",
                     .attributes = {{"kind", "nearest"}, {"size", size_text(shape)}},
                     .inputs = {value.view.tensor},
                     .shape = shape};
  layer.name = layer_name(node, {}, "pad");
  return image_view(network_.add_once(std::move(layer)), value.view.dimensions[0], shape);
}

View Translation::as_image(const onnx::NodeProto& node, const View& asked) {
  View view = shuffled(node, gathered(node, asked));
  const TensorShape shape = network_.shape(view.tensor);
  const std::size_t rank = view.dimensions.size();
  const bool has_layout = rank >= 2 && rank <= 2 + most_positions && is_of_samples(view.dimensions[0]);
  if (!has_layout) {
    graph_.fail(node, "the dimensions of the tensor are not batch, channels and positions",
                "the first dimension must be the batch, with at most three dimensions after the channels");
  }
  bool as_it_is = is_whole(view, 1, channels, shape) && shape.rank == static_cast<int>(rank) - 2;
  for (std::size_t d = 2; d < rank; ++d) {
    as_it_is = as_it_is && is_whole(view, d, first_position + static_cast<int>(d) - 2, shape);
  }
  if (as_it_is) return view;
  std::vector<int> axes{batch, channels};
  for (std::size_t d = 2; d < rank; ++d) axes.push_back(first_position + static_cast<int>(d) - 2);
  return relaid(view, axes, false);
}

View Translation::as_rows(const onnx::NodeProto& node, const View& asked) {
  View view = gathered(node, asked);
  if (view.dimensions.empty()) graph_.fail(node, "the node reads a single number");
  const std::size_t last = view.dimensions.size() - 1;
  const TensorShape shape = network_.shape(view.tensor);
  if (has_axis(view.dimensions[last], batch)) {
    graph_.fail(node, "the node sums over the samples of the batch", "export the network with batch size 1");
  }
  if (is_whole(view, last, channels, shape) && (shape.sequence || shape.rank == 0)) return view;
  if (is_whole(view, last, channels, shape) && shape.positions() > 1) return with_tokens(view);
  bool one_row = true;
  for (std::size_t d = 0; d < last; ++d) one_row = one_row && is_of_samples(view.dimensions[d]);
  if (!one_row) {
    std::vector<int> axes(last + 1, first_position);
    axes[last] = channels;
    return relaid(view, axes, true);
  }
  if (shape.rank > 0) {
    NetworkLayer layer{.operation = "flatten", .inputs = {view.tensor}, .shape = {.channels = shape.items()}};
    layer.name = layer_name(node, {}, "flatten");
    view.tensor = add_layer(node, std::move(layer), "flatten");
  }
  view.dimensions[last] = whole(channels, shape.items());
  return view;
}

}  // namespace ddl::onnx_import
