#pragma once

#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace ddl::onnx_import {

/// What a layer is best called: by the module that has the weight (`layer1.0.conv1.weight` is of `layer1_0_conv1`), else by
/// the path of the node (`/layer1/layer1.0/relu/Relu`), else by `stem`.
[[nodiscard]] std::string layer_name(const onnx::NodeProto& node, const std::string& weight, std::string_view stem);

}  // namespace ddl::onnx_import
