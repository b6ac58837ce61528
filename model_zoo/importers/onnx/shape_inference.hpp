#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/numbers.hpp"

namespace ddl::onnx_import {

/// The known properties of an input for shape inference; empty for an omitted input.
struct KnownInput {
  std::optional<std::vector<std::int64_t>> shape;
  const Numbers* numbers = nullptr;
};

/// Returns the sizes of a node's first output, which the ONNX library infers from the sizes of the
/// node's inputs. Empty if the sizes cannot be inferred, or are inconsistent. The caller must have
/// checked attributes that the library does not check, such as strides.
[[nodiscard]] std::optional<std::vector<std::int64_t>> inferred_sizes(const onnx::NodeProto& node, int opset,
                                                                      const std::vector<KnownInput>& inputs);

}  // namespace ddl::onnx_import
