#pragma once

#include <cstdint>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

/// The sliding window of a convolution or pooling, with a size for each spatial dimension.
struct Window {
  std::vector<std::int64_t> kernel{}, stride{}, dilation{}, before{}, after{};
  bool ceil = false;  ///< a last window may extend beyond the end

  /// Extent along a dimension, dilation included.
  [[nodiscard]] std::int64_t reach(std::size_t d) const { return (kernel[d] - 1) * dilation[d] + 1; }
};

/// `count` sizes of an attribute, of at least `low`; `otherwise` if it is not given. An Error for others.
[[nodiscard]] std::vector<std::int64_t> sizes_attribute(const Translation& translation, const onnx::NodeProto& node,
                                                        std::string_view name, std::size_t count, std::int64_t low,
                                                        std::int64_t otherwise);
/// The window of a node on an input with these positions, including pending padding of the input.
[[nodiscard]] Window window_of(const Translation& translation, const onnx::NodeProto& node,
                               const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& extents,
                               const std::vector<std::int64_t>& pending);
/// The positions of a window on an input with these; an Error if there are none.
[[nodiscard]] std::vector<std::int64_t> slid_extents(const Translation& translation, const onnx::NodeProto& node,
                                                     const Window& window, const std::vector<std::int64_t>& extents);
/// Writes a window to a convolution or a pooling, with padding that model files support and that gives the same positions.
/// False, and nothing is written, if there is no such padding.
[[nodiscard]] bool describe_window(NetworkLayer& layer, const Window& window, const std::vector<std::int64_t>& extents,
                                   const std::vector<std::int64_t>& positions);

}  // namespace ddl::onnx_import
