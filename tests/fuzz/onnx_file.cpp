// Fuzzes an ONNX file: the file is imported, with unknown operators refused or kept and with sizes
// given, and the resulting model file is parsed.

#include <algorithm>
#include <cmath>
#include <string>

#include "core/yaml_node.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/onnx/import_onnx.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/fuzz/fuzzer.hpp"

namespace ddl {
namespace {

void import_and_read(const std::string& bytes, const ImportOptions& options) {
  const auto imported = result_of([&] { return import_onnx(bytes, "net.onnx", options); });
  if (!imported) return;
  for (const std::string& warning : imported->warnings) {
    const bool one_line = std::none_of(warning.begin(), warning.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte < 0x20 || byte == 0x7f;
    });
    require(one_line, "a warning is not one line without control characters");
  }
  // Errors of operations are reported when the model file is parsed; the file itself must be well-formed.
  const std::string text = imported->model_file;
  static_cast<void>(YamlNode::parse(text, "net.yaml"));
  const auto model = result_of([&] { return parse_model(text, "net.yaml"); });
  if (!model) return;
  require(std::isfinite(model->macs()) && model->macs() >= 0, "the multiply-adds are no number");
  require(model->parameters() >= 0, "the parameters are no number");
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = ddl::text_of(data, size);
  ddl::import_and_read(bytes, {.name = "net"});
  ddl::import_and_read(bytes, {.allow_unknown = true, .name = "net"});
  ddl::import_and_read(bytes, {.name = "net", .input_shape = {3, 24, 20}});
  return 0;
}
