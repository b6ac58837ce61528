#pragma once

#include <string>

#include <google/protobuf/io/zero_copy_stream.h>
#include <onnx/onnx_pb.h>

namespace ddl::onnx_import {

/// Reads an ONNX file without the data of large tensors, because only their shapes are needed. The data is skipped during
/// parsing, so that a file of 2 GiB takes a few MiB of memory. Throws Error if the bytes are not a complete ONNX file.
[[nodiscard]] onnx::ModelProto read_model(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin);

}  // namespace ddl::onnx_import
