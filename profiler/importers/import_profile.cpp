#include "profiler/importers/import_profile.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "profiler/importers/layer_table.hpp"
#include "profiler/importers/pytorch_trace.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {
namespace {

struct Importer {
  std::string_view ending;
  std::size_t max_bytes;
  std::string_view source;
  ProfileImport (*import)(std::string text, const std::string& origin, const Model& model,
                          const ProfileImportOptions& options);
};
constexpr Importer importers[] = {
    {".json", max_trace_bytes, "a trace of PyTorch's profiler", import_pytorch_trace},
    {".csv", CsvTable::max_bytes, "a table of layer times", import_layer_table},
};

}  // namespace

ProfileImport import_profile(const std::string& path, const Model& model, const ProfileImportOptions& options) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  if (lower.ends_with(".gz")) {
    throw Error(fmt::format("{}: a packed file is not read", path), fmt::format("unpack it first: gunzip -k {}", path));
  }
  for (const Importer& importer : importers) {
    if (!lower.ends_with(importer.ending)) continue;
    ProfileImport result = importer.import(read_file(path, importer.max_bytes), path, model, options);
    const std::size_t slash = path.rfind('/');
    result.profile.head.source =
        fmt::format("{}, {}", slash == std::string::npos ? path : path.substr(slash + 1), importer.source);
    return result;
  }
  throw Error(fmt::format("{}: neither a trace (.json) nor a table of layer times (.csv)", path),
              "a trace is written by torch.profiler: profiler.export_chrome_trace(\"trace.json\")");
}

}  // namespace ddl
