#pragma once

#include <cstdint>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

/// The sliding window of a convolution or pooling, with a size for each spatial dimension.
struct Window {
  std::vector<std::int64_t> kernel{}, stride{}, dilation{}, before{}, after{};
  bool ceil = false;  ///< whether the last window may extend beyond the end of the input

  /// Returns the extent of the window along a dimension, including dilation.
  [[nodiscard]] std::int64_t reach(std::size_t d) const { return (kernel[d] - 1) * dilation[d] + 1; }
};

/// Returns the `count` sizes of an attribute, each at least `low`; `otherwise` if the node does not
/// have the attribute. Throws Error for any other number of sizes.
[[nodiscard]] std::vector<std::int64_t> sizes_attribute(const Translation& translation, const onnx::NodeProto& node,
                                                        std::string_view name, std::size_t count, std::int64_t low,
                                                        std::int64_t otherwise);
/// Returns the window of a node on an input with these positions, including padding of the input
/// that no window has applied yet.
[[nodiscard]] Window window_of(const Translation& translation, const onnx::NodeProto& node,
                               const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& extents,
                               const std::vector<std::int64_t>& pending);
/// Returns the number of positions of a window on an input with these positions. Throws Error if the window has no position.
[[nodiscard]] std::vector<std::int64_t> slid_extents(const Translation& translation, const onnx::NodeProto& node,
                                                     const Window& window, const std::vector<std::int64_t>& extents);
/// Writes a window to a convolution or a pooling, with padding that model files support and that
/// gives the same positions. If there is no such padding, returns false and writes nothing.
[[nodiscard]] bool describe_window(NetworkLayer& layer, const Window& window, const std::vector<std::int64_t>& extents,
                                   const std::vector<std::int64_t>& positions);

}  // namespace ddl::onnx_import
