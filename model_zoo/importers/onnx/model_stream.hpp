#pragma once

#include <string>

#include <google/protobuf/io/zero_copy_stream.h>
#include <onnx/onnx_pb.h>

namespace ddl::onnx_import {

/// What an ONNX file says, without the contents of large tensors, of which only the shape counts: they are passed over as
/// they are read, so that a file of 2 GiB takes a few MiB of memory. An Error where the bytes are no whole ONNX file.
[[nodiscard]] onnx::ModelProto read_model(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin);

}  // namespace ddl::onnx_import
