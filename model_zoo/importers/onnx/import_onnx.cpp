#include "model_zoo/importers/onnx/import_onnx.hpp"

#include <fmt/format.h>

#include "model_zoo/importers/onnx/translation.hpp"
#include "model_zoo/importers/onnx/yaml_writer.hpp"

namespace ddl {
namespace {

/// `resnet50` of `nets/resnet50.onnx`.
std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "imported" : name;
}

}  // namespace

Import import_onnx(std::string_view bytes, const std::string& origin, const ImportOptions& options) {
  const onnx_import::Graph graph(bytes, origin);
  const onnx_import::Network network = onnx_import::Translation(graph, options).run();
  const onnx::ModelProto& file = graph.file();
  const std::string writer =
      file.producer_name().empty() ? "" : fmt::format(", by {} {}", file.producer_name(), file.producer_version());
  const onnx_import::Heading heading{
      .name = options.name.empty() ? stem_of(origin) : options.name,
      .description = fmt::format("imported from an ONNX file of opset {}{}", graph.opset(), writer),
      .source = {}};
  return {.model_file = onnx_import::model_file(heading, network), .warnings = network.warnings};
}

}  // namespace ddl
