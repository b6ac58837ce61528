#include "model_zoo/files/onnx_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/file_stream.hpp"
#include "core/module_loader.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/import_module.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

// The size is limited because a protocol buffer is shorter than 2^31 bytes.
constexpr std::size_t max_onnx_bytes = std::size_t{2047} << 20U;
constexpr std::size_t most_sizes = 6;

}  // namespace

bool is_onnx_file(std::string_view path) {
  constexpr std::string_view ending = ".onnx";
  return path.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

Import import_onnx_file(const std::string& path, const ImportOptions& options) {
  const auto& module =
      load_module<ImportModule>("import-onnx", import_module_symbol, "libonnx-dev, libprotobuf-dev and protobuf-compiler");
  FileStream file(path, max_onnx_bytes);
  return module.run(file, path, options);
}

std::vector<std::int64_t> parse_input_shape(const std::string& what, const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("xX", start), text.size());
    std::int64_t size = 0;
    const auto [stop, problem] = std::from_chars(text.data() + start, text.data() + end, size);
    const bool is_size = problem == std::errc() && stop == text.data() + end && size >= 1 && size <= max_attribute;
    if (!is_size || sizes.size() == most_sizes) {
      throw Error(fmt::format("{} is not the shape of an input: {}", what, quote(text)),
                  "write the sizes of one sample, as the file orders them, with an x between: 3x640x640");
    }
    sizes.push_back(size);
    start = end + 1;
  }
  return sizes;
}

}  // namespace ddl
