#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/onnx/import_onnx.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace ddl {

[[nodiscard]] inline Model read_back(const Import& imported) { return parse_model(imported.model_file, "imported.yaml"); }

/// Returns the bytes of a graph that is given in ONNX's own textual form.
[[nodiscard]] inline std::string bytes_of(const std::string& graph, int opset = 17) {
  const std::string text = fmt::format("<ir_version: 8, opset_import: [\"\" : {}]>\n{}", opset, graph);
  onnx::ModelProto model;
  onnx::OnnxParser parser(text.c_str());
  const auto status = parser.Parse(model);
  INFO(status.ErrorMessage());
  REQUIRE(status.IsOK());
  return model.SerializeAsString();
}

/// Returns the import of a graph in textual form. `sizes`: sizes of the graph's input.
[[nodiscard]] inline Import import_graph(const std::string& graph, int opset = 17,
                                         const std::vector<std::int64_t>& sizes = {}) {
  return import_onnx(bytes_of(graph, opset), "net.onnx", {.input_shape = sizes});
}
[[nodiscard]] inline Model import_text(const std::string& graph, int opset = 17,
                                       const std::vector<std::int64_t>& sizes = {}) {
  return read_back(import_graph(graph, opset, sizes));
}
[[nodiscard]] inline std::string error_in(const std::string& graph, int opset = 17,
                                          const std::vector<std::int64_t>& sizes = {}) {
  return error_of([&] { static_cast<void>(import_graph(graph, opset, sizes)); });
}

/// Returns the types of a model's layers, such as `conv relu pool`.
[[nodiscard]] inline std::string operations_of(const Model& model) {
  std::string text;
  for (const Layer& layer : model.layers)
    text += fmt::format("{}{}", text.empty() ? "" : " ", layer.operation->short_name());
  return text;
}

}  // namespace ddl
