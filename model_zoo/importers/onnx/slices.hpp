#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

/// The range that a `Slice` selects in one dimension.
struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

/// Returns the ranges of a `Slice`; empty if the bounds are not known. Throws Error if the bounds are invalid.
[[nodiscard]] std::optional<std::vector<Range>> ranges_of(const Translation& translation, const onnx::NodeProto& node,
                                                          const std::vector<std::int64_t>& shape);
/// Returns the sizes after a `Reshape` of a tensor with `shape` to the requested sizes. A requested
/// 0 keeps a size, and -1 is inferred. Empty if the numbers of elements differ.
[[nodiscard]] std::optional<std::vector<std::int64_t>> reshaped_sizes(const onnx::NodeProto& node,
                                                                      const std::vector<std::int64_t>& shape,
                                                                      std::vector<std::int64_t> wish);
/// Returns the sizes after a `Squeeze` or `Unsqueeze`.
[[nodiscard]] std::vector<std::int64_t> squeezed_sizes(const Translation& translation, const onnx::NodeProto& node,
                                                       const std::vector<std::int64_t>& shape);
/// Returns the order of dimensions of a `Transpose`. Throws Error if the order is not a permutation of the dimensions.
[[nodiscard]] std::vector<std::int64_t> order_of(const Translation& translation, const onnx::NodeProto& node,
                                                 std::size_t rank);

/// Returns the result of `Shape` for a tensor of these sizes. Since opset 15, the node may request only some of the sizes.
[[nodiscard]] Numbers shape_numbers(const onnx::NodeProto& node, const std::vector<std::int64_t>& sizes);

}  // namespace ddl::onnx_import
