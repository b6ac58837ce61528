#include "model_zoo/files/published_accuracy.hpp"

#include <cstddef>
#include <span>

#include "core/csv.hpp"
#include "core/embedded.hpp"

namespace ddl {

// This function is generated from the files in accuracy/.
std::span<const EmbeddedFile> accuracy_files();

std::optional<PublishedAccuracy> published_accuracy(std::string_view model) {
  for (const EmbeddedFile& file : accuracy_files()) {
    const CsvTable table = CsvTable::parse(std::string(file.content), std::string(file.path));
    const std::size_t name = table.column("model"), depth = table.column("depth"), top1 = table.column("top1");
    const std::size_t source = table.column("source");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.cell(row, name) != model) continue;
      return PublishedAccuracy{.depth = static_cast<int>(table.positive_integer(row, depth).value_or(0)),
                               .top1 = table.number(row, top1).value_or(0),
                               .source = table.cell(row, source)};
    }
  }
  return std::nullopt;
}

}  // namespace ddl
