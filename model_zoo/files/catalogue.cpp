#include "model_zoo/files/catalogue.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "core/csv.hpp"
#include "core/embedded.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

// This function is generated from the file in catalogue/.
std::span<const EmbeddedFile> catalogue_files();

namespace {

/// Separates the aliases of a model in the catalogue.
constexpr char alias_separator = '|';

/// The order of kinds in lists. A kind that is missing here comes last.
constexpr auto kind_order =
    std::to_array<std::string_view>({"language", "moe", "vision-language", "generation", "speech", "recommendation",
                                     "detection", "segmentation", "science", "classification"});

std::vector<std::string> aliases_in(std::string_view cell) {
  std::vector<std::string> aliases;
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(alias_separator), cell.size());
    aliases.emplace_back(cell.substr(0, end));
    cell.remove_prefix(std::min(end + 1, cell.size()));
  }
  return aliases;
}

std::vector<CatalogueEntry> read_catalogue() {
  const EmbeddedFile& file = catalogue_files().front();
  const CsvTable table = CsvTable::parse(std::string(file.content), std::string(file.path));
  std::vector<CatalogueEntry> entries;
  entries.reserve(table.rows());
  const std::size_t model = table.column("model"), kind = table.column("kind"), family = table.column("family");
  const std::size_t parameters = table.column("parameters"), flops = table.column("flops_forward");
  const std::size_t macs = table.column("multiply_adds"), layers = table.column("layers"), input = table.column("input");
  const std::size_t aliases = table.column("aliases");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    entries.push_back({.name = table.cell(row, model),
                       .kind = table.cell(row, kind),
                       .family = table.cell(row, family),
                       .parameters = table.positive_integer(row, parameters).value_or(0),
                       .flops_forward = table.number(row, flops).value_or(0),
                       .multiply_adds = table.number(row, macs).value_or(0),
                       .layers = table.positive_integer(row, layers).value_or(0),
                       .input = table.cell(row, input),
                       .aliases = aliases_in(table.cell(row, aliases))});
  }
  return entries;
}

}  // namespace

const std::vector<CatalogueEntry>& model_catalogue() {
  static const std::vector<CatalogueEntry> entries = read_catalogue();
  return entries;
}

const CatalogueEntry* find_in_catalogue(const Model& model) {
  const std::string name = model.name.substr(0, model.name.find('@'));
  const std::vector<CatalogueEntry>& all = model_catalogue();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const CatalogueEntry& entry, const std::string& key) { return entry.name < key; });
  return found != all.end() && found->name == name && found->family == model.family ? &*found : nullptr;
}

std::string network_kind(const Model& model, bool has_experts) {
  if (const CatalogueEntry* const entry = find_in_catalogue(model)) return entry->kind;
  if (has_experts && model.input.sequence) return "moe";
  std::set<std::string_view> kinds;
  for (const CatalogueEntry& entry : model_catalogue()) {
    if (!model.family.empty() && entry.family == model.family) kinds.insert(entry.kind);
  }
  if (kinds.size() == 1) return std::string(*kinds.begin());
  if (model.input.sequence) return "language";
  const bool returns_vector = !model.layers.empty() && model.layers.back().output_shape.rank == 0;
  return model.input.rank == 2 && returns_vector ? "classification" : "";
}

std::string_view kind_of(const Model& model) {
  const CatalogueEntry* const entry = find_in_catalogue(model);
  return entry != nullptr ? std::string_view(entry->kind) : std::string_view();
}

bool is_usually_half(const Model& model) {
  if (model.input.sequence) return true;
  constexpr auto kinds = std::to_array<std::string_view>({"vision-language", "generation", "speech"});
  return std::find(kinds.begin(), kinds.end(), kind_of(model)) != kinds.end();
}

std::vector<std::string> model_kinds() {
  std::vector<std::string> kinds{kind_order.begin(), kind_order.end()};
  for (const CatalogueEntry& entry : model_catalogue()) {
    if (std::find(kinds.begin(), kinds.end(), entry.kind) == kinds.end()) kinds.push_back(entry.kind);
  }
  return kinds;
}

}  // namespace ddl
