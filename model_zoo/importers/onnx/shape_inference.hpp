#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/numbers.hpp"

namespace ddl::onnx_import {

/// What shape inference is told of one input; nothing known of one that is left out.
struct KnownInput {
  std::optional<std::vector<std::int64_t>> shape;
  const Numbers* numbers = nullptr;
};

/// Sizes of a node's first output, as the ONNX library infers them from those of its inputs; nothing where it cannot tell,
/// or finds them at odds. Attributes that the library trusts blindly, such as strides, must have been checked.
[[nodiscard]] std::optional<std::vector<std::int64_t>> inferred_sizes(const onnx::NodeProto& node, int opset,
                                                                      const std::vector<KnownInput>& inputs);

}  // namespace ddl::onnx_import
