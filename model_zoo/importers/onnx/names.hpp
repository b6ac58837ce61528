#pragma once

#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace ddl::onnx_import {

/// Returns the best available name of a layer: the name of the module with the weight (`layer1.0.conv1.weight` gives
/// `layer1_0_conv1`), else the path of the node (`/layer1/layer1.0/relu/Relu`), else `stem`.
[[nodiscard]] std::string layer_name(const onnx::NodeProto& node, const std::string& weight, std::string_view stem);

}  // namespace ddl::onnx_import
