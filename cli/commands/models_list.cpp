#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "model_zoo/files/catalogue.hpp"

namespace ddl {
namespace {

struct ModelFilters {
  std::string kind, larger, smaller;
};

/// Reads a number of parameters: `7000000000`, `7e9`, `7B`, `350M`. Throws Error, which names the option.
double parameters_in(const std::string& option, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, problem] = std::from_chars(text.data(), end, number);
  double unit = 1;
  if (problem == std::errc() && end - next == 1) {
    constexpr std::string_view letters = "kKmMbBtT";
    const std::size_t letter = letters.find(*next);
    const std::size_t thousands = letter / 2 + 1;  // each unit has a small and a capital letter
    unit = letter == std::string_view::npos ? 0 : std::pow(1000.0, static_cast<double>(thousands));
  }
  if (problem != std::errc() || end - next > 1 || unit == 0 || !std::isfinite(number) || number < 0) {
    throw Error(fmt::format("{} does not support {}", option, quote(text)),
                "use a number of parameters, such as 350M, 7B or 1e12");
  }
  return number * unit;
}

std::string heading_of(const std::string& kind) {
  if (kind == "language") return "Language models";
  if (kind == "moe") return "Language models with experts";
  if (kind == "vision-language") return "Language models that read images";
  if (kind == "generation") return "Generation of images and videos";
  if (kind == "recommendation") return "Recommendations";
  if (kind == "classification") return "Classification of images";
  std::string heading = kind;
  if (!heading.empty() && heading.front() >= 'a' && heading.front() <= 'z') {
    heading.front() = static_cast<char>(heading.front() - 'a' + 'A');
  }
  return heading;
}

Table empty_table() {
  return Table({essential(words("model")), figures("parameters"), if_asked(figures("multiply-adds")),
                figures("FLOPs forward"), figures("layers"), words("input")},
               0);
}

Report listed_models(const ModelFilters& options) {
  const std::vector<std::string> kinds = model_kinds();
  if (!options.kind.empty() && !contains(kinds, options.kind)) {
    unknown_choice("--kind", options.kind, {kinds.begin(), kinds.end()});
  }
  const double least = options.larger.empty() ? 0 : parameters_in("--larger", options.larger);
  const double most =
      options.smaller.empty() ? std::numeric_limits<double>::infinity() : parameters_in("--smaller", options.smaller);
  Report report;
  Json rows = Json::array();
  for (const std::string& kind : kinds) {
    if (!options.kind.empty() && options.kind != kind) continue;
    Table table = empty_table();
    std::size_t count = 0;
    for (const CatalogueEntry& entry : model_catalogue()) {
      const auto parameters = static_cast<double>(entry.parameters);
      if (entry.kind != kind || parameters < least || parameters > most) continue;
      ++count;
      table.add({entry.name, with_thousands(entry.parameters), whole_text(entry.multiply_adds),
                 humanize(Flops(entry.flops_forward)), std::to_string(entry.layers), entry.input});
      rows.push_back({{"name", entry.name},
                      {"parameters", entry.parameters},
                      {"flops_forward", entry.flops_forward},
                      {"layers", entry.layers},
                      {"macs_forward", entry.multiply_adds},
                      {"kind", entry.kind}});
    }
    if (count == 0) continue;
    report.document.section(heading_of(kind), fmt::format(" ({}, --kind {})", count, kind));
    report.document.add(std::move(table));
  }
  if (rows.empty()) report.document.line("no bundled model has this kind and size");
  report.rows = [rows] { return rows; };
  report.json = [rows] { return Json{{"schema", 1}, {"models", rows}}; };
  return report;
}

}  // namespace

void add_models_list(const Command& models, Request& request) {
  const Command lists = models.add_subcommand("list", "bundled models");
  auto options = std::make_shared<ModelFilters>();
  lists.add_option("--kind", options->kind, "only models of this kind, such as language, moe or generation").words([] {
    return model_kinds();
  });
  lists.add_option("--larger", options->larger, "only models with at least this number of parameters: 100B", "COUNT");
  lists.add_option("--smaller", options->smaller, "only models with at most this number of parameters: 350M", "COUNT");
  lists.examples({{"ddl-oracle models list", "the names that --model takes"},
                  {"ddl-oracle models list --kind moe --larger 100B", "large language models with experts"},
                  {"ddl-oracle models list --format json -o models.json", "the list as JSON, written to a file"}});
  add_report_options(lists, request.report);
  request.on_choice(lists, [options] { return listed_models(*options).then({"ddl-oracle", "models", "show", "resnet50"}); });
}

}  // namespace ddl
