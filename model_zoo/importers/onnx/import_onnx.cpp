#include "model_zoo/importers/onnx/import_onnx.hpp"

#include <exception>

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/error.hpp"
#include "model_zoo/importers/onnx/translation.hpp"
#include "model_zoo/importers/onnx/yaml_writer.hpp"

namespace ddl {
namespace {

/// Returns the name of a file without folder and ending: `resnet50` from `nets/resnet50.onnx`.
std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "imported" : name;
}

/// A file as an input of protobuf. Protobuf does not support exceptions, so an error is thrown after protobuf has returned.
class FileBytes : public google::protobuf::io::CopyingInputStream {
 public:
  explicit FileBytes(FileStream& file) : file_(file) {}

  int Read(void* into, int size) override {
    try {
      return static_cast<int>(file_.read({static_cast<char*>(into), static_cast<std::size_t>(size)}));
    } catch (...) {
      problem_ = std::current_exception();
      return -1;
    }
  }
  void throw_problem() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  FileStream& file_;
  std::exception_ptr problem_;
};

Import imported(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin, const ImportOptions& options) {
  const onnx_import::Graph graph(bytes, origin, options.input_shape);
  const onnx_import::Network network = onnx_import::Translation(graph, options).run();
  const onnx::ModelProto& file = graph.file();
  std::string writer = file.producer_name().empty() ? "" : ", by " + file.producer_name();
  if (!writer.empty() && !file.producer_version().empty()) writer += " " + file.producer_version();
  const onnx_import::Heading heading{
      .name = options.name.empty() ? stem_of(origin) : options.name,
      .description = fmt::format("imported from an ONNX file of opset {}{}", graph.opset(), writer),
      .source = {}};
  return {.model_file = onnx_import::model_file(heading, network), .warnings = network.warnings};
}

}  // namespace

Import import_onnx(FileStream& file, const std::string& origin, const ImportOptions& options) {
  constexpr int block_bytes = 1 << 16;
  FileBytes bytes(file);
  google::protobuf::io::CopyingInputStreamAdaptor stream(&bytes, block_bytes);
  try {
    return imported(stream, origin, options);
  } catch (const Error&) {
    bytes.throw_problem();  // a read error has priority over an error about a truncated file
    throw;
  }
}

Import import_onnx(std::string_view bytes, const std::string& origin, const ImportOptions& options) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return imported(stream, origin, options);
}

}  // namespace ddl
