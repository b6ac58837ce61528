#include "model_zoo/importers/onnx/window.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl::onnx_import {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t largest_window = std::int64_t{1} << 31U;

bool is(const Sizes& sizes, std::int64_t value) {
  return std::all_of(sizes.begin(), sizes.end(), [value](std::int64_t size) { return size == value; });
}

/// Returns the number of positions of a window along one dimension; 0 if the window does not fit.
std::int64_t places(const Window& window, std::size_t d, std::int64_t extent, std::int64_t before, std::int64_t after,
                    bool ceil) {
  const std::int64_t room = extent + before + after - window.reach(d);
  if (room < 0) return 0;
  const std::int64_t stride = window.stride[d];
  std::int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  // As in frameworks, a last window is dropped if it would start after the input and contain only padding.
  if (ceil && (count - 1) * stride >= extent + before) --count;
  return count;
}

/// Returns the smallest padding, equal on both sides, with which a window has the given number of positions.
std::optional<std::int64_t> even_padding(const Window& window, std::size_t d, std::int64_t extent, std::int64_t wanted,
                                         bool ceil) {
  const std::int64_t least = (wanted - (ceil ? 2 : 1)) * window.stride[d] + (ceil ? 1 : 0) + window.reach(d) - extent;
  const std::int64_t smallest = std::max<std::int64_t>(0, (least + 1) / 2);
  for (std::int64_t padding = smallest; padding <= smallest + 1; ++padding) {
    if (places(window, d, extent, padding, padding, ceil) == wanted) return padding;
  }
  return std::nullopt;
}

/// Returns the smallest padding in all dimensions. The padding of a pooling is at most half of the kernel.
std::optional<Sizes> even_paddings(const Window& window, const Sizes& extents, const Sizes& positions, bool ceil,
                                   bool pools) {
  Sizes paddings;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto padding = even_padding(window, d, extents[d], positions[d], ceil);
    if (!padding || (pools && 2 * *padding > window.kernel[d])) return std::nullopt;
    paddings.push_back(*padding);
  }
  return paddings;
}

bool is_same(const Window& window, const Sizes& extents, const Sizes& positions) {
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (positions[d] != (extents[d] + window.stride[d] - 1) / window.stride[d]) return false;
  }
  return true;
}

}  // namespace

Sizes sizes_attribute(const Translation& translation, const onnx::NodeProto& node, std::string_view name, std::size_t count,
                      std::int64_t low, std::int64_t otherwise) {
  if (find_attribute(node, name) == nullptr) return Sizes(count, otherwise);
  Sizes sizes = integers_attribute(node, name);
  if (sizes.size() != count) {
    translation.graph().fail(node, fmt::format("{} has {} sizes instead of {}", name, sizes.size(), count));
  }
  for (const std::int64_t size : sizes) {
    if (size < low || size > largest_window) translation.graph().fail(node, fmt::format("{} cannot be {}", name, size));
  }
  return sizes;
}

Window window_of(const Translation& translation, const onnx::NodeProto& node, const Sizes& kernel, const Sizes& extents,
                 const Sizes& pending) {
  const std::size_t rank = kernel.size();
  Window window{.kernel = kernel};
  window.stride = sizes_attribute(translation, node, "strides", rank, 1, 1);
  window.dilation = sizes_attribute(translation, node, "dilations", rank, 1, 1);
  Sizes pads = sizes_attribute(translation, node, "pads", 2 * rank, 0, 0);
  const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
  if (automatic == "VALID") std::fill(pads.begin(), pads.end(), 0);
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty() && !same) {
    translation.graph().fail(node, fmt::format("{} is not a padding", quote(automatic)));
  }
  for (std::size_t d = 0; d < rank && same; ++d) {
    const std::int64_t count = (extents[d] + window.stride[d] - 1) / window.stride[d];
    const std::int64_t total = std::max<std::int64_t>(0, (count - 1) * window.stride[d] + window.reach(d) - extents[d]);
    window.before[d] = total / 2;
    window.after[d] = total - total / 2;
  }
  for (std::size_t d = 0; d < rank && !pending.empty(); ++d) {
    window.before[d] += pending[d];
    window.after[d] += pending[rank + d];
  }
  window.ceil = integer_attribute(node, "ceil_mode", 0) != 0;
  return window;
}

Sizes slid_extents(const Translation& translation, const onnx::NodeProto& node, const Window& window, const Sizes& extents) {
  Sizes positions;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    positions.push_back(places(window, d, extents[d], window.before[d], window.after[d], window.ceil));
    if (positions.back() < 1) translation.graph().fail(node, "the window does not fit the input");
  }
  return positions;
}

bool describe_window(NetworkLayer& layer, const Window& window, const Sizes& extents, const Sizes& positions) {
  const bool pools = layer.operation == "pool";
  bool ceil = window.ceil;
  bool too_wide = false;
  for (std::size_t d = 0; d < extents.size(); ++d)
    too_wide = too_wide || (pools && 2 * std::max(window.before[d], window.after[d]) > window.kernel[d]);
  std::string padding;
  if (window.before == window.after && !too_wide) {
    if (!is(window.before, 0)) padding = extents_text(window.before);
  } else if (is_same(window, extents, positions)) {
    padding = "same";
    ceil = false;
  } else {
    // A different padding with the same number of positions takes the same time.
    std::optional<Sizes> even = even_paddings(window, extents, positions, false, pools);
    ceil = !even && pools;
    if (ceil) even = even_paddings(window, extents, positions, true, pools);
    if (!even) return false;
    if (!is(*even, 0)) padding = extents_text(*even);
  }
  layer.set("kernel", extents_text(window.kernel));
  if (pools || !is(window.stride, 1)) layer.set("stride", extents_text(window.stride));
  if (!padding.empty()) layer.set("padding", padding);
  if (!is(window.dilation, 1)) layer.set("dilation", extents_text(window.dilation));
  if (ceil) layer.set("ceil", "yes");
  return true;
}

}  // namespace ddl::onnx_import
