#include "profiler/importers/import_profile.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/gzip.hpp"
#include "core/source_text.hpp"
#include "profiler/importers/layer_table.hpp"
#include "profiler/importers/pytorch_trace.hpp"
#include "profiler/importers/step_times.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {
namespace {

struct Importer {
  std::string_view ending;
  std::size_t max_bytes;
  std::string_view source;
  bool (*reads)(std::string_view text);  ///< whether the importer reads this file; null: all files with this extension
  ProfileImport (*import)(std::string text, const std::string& origin, const Model& model,
                          const ProfileImportOptions& options);
};
constexpr Importer importers[] = {
    {".json", max_step_times_bytes, "whole steps of PyTorch", is_step_times, import_step_times},
    {".json", max_trace_bytes, "a trace of PyTorch's profiler", nullptr, import_pytorch_trace},
    {".csv", CsvTable::max_bytes, "a table of layer times", nullptr, import_layer_table},
};

}  // namespace

ProfileImport import_profile(const std::string& path, const Model& model, const ProfileImportOptions& options) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  // PyTorch's profiler writes traces as .json.gz.
  constexpr std::string_view compressed = ".gz";
  if (lower.ends_with(compressed)) lower.resize(lower.size() - compressed.size());
  const auto is_of = [&](const Importer& importer) { return lower.ends_with(importer.ending); };
  std::size_t most = 0;
  for (const Importer& importer : importers) most = std::max(most, is_of(importer) ? importer.max_bytes : 0);
  if (most > 0) {
    std::string text = read_file(path, most);
    if (is_gzip(text)) text = gunzip(text, most, path);
    const auto* const importer = std::find_if(std::begin(importers), std::end(importers), [&](const Importer& each) {
      return is_of(each) && (each.reads == nullptr || (text.size() <= each.max_bytes && each.reads(text)));
    });
    ProfileImport result = importer->import(std::move(text), path, model, options);
    const std::size_t slash = path.rfind('/');
    result.profile.head.source =
        fmt::format("{}, {}", slash == std::string::npos ? path : path.substr(slash + 1), importer->source);
    return result;
  }
  throw Error(fmt::format("{}: neither a trace, nor step times (.json, .json.gz), nor a table of layer times (.csv)", path),
              "a trace is written by torch.profiler: profiler.export_chrome_trace(\"trace.json\")");
}

}  // namespace ddl
