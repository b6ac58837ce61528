#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/numbers.hpp"

namespace ddl::onnx_import {

/// What is known about an input for shape inference; empty for an omitted input.
struct KnownInput {
  std::optional<std::vector<std::int64_t>> shape;
  const Numbers* numbers = nullptr;
};

/// Sizes of a node's first output, inferred by the ONNX library from those of its inputs; empty if they cannot be inferred,
/// or are inconsistent. Attributes that the library does not check, such as strides, must have been checked before.
[[nodiscard]] std::optional<std::vector<std::int64_t>> inferred_sizes(const onnx::NodeProto& node, int opset,
                                                                      const std::vector<KnownInput>& inputs);

}  // namespace ddl::onnx_import
