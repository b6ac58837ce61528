#include "cli/documents/convergence.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"

namespace ddl {
namespace {

/// Rounds a number to two digits, the precision of the fit: `47,000`.
std::string two_digits(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(std::max(value, 1.0))) - 1));
  return whole_text(std::round(value / unit) * unit);
}

}  // namespace

void add_convergence(Document& document, const Convergence& convergence) {
  document.section("Training to the target", fmt::format(": {}", convergence.target));
  const double least = std::ranges::min_element(convergence.points, [](const auto& a, const auto& b) {
                         return a.samples < b.samples;
                       })->samples;
  Table table({essential(figures("batch")), essential(figures("steps")), essential(figures("samples")),
               words("samples needed"), figures("over the minimum"), figures("runs")});
  Bars bars;
  bars.column = 3;
  bars.pieces = {"minimum over all batches", "extra at this batch"};
  double most = 0;
  for (const ConvergencePoint& point : convergence.points) most = std::max(most, point.samples);
  for (const ConvergencePoint& point : convergence.points) {
    const double more = point.samples / least - 1;
    table.add({with_thousands(point.batch), whole_text(point.samples / static_cast<double>(point.batch) + 0.5),
               whole_text(point.samples + 0.5), fmt::format("{:.2f} times the minimum", more + 1), share_text(more),
               std::to_string(point.runs)});
    bars.shares.push_back({least / most, (point.samples - least) / most});
  }
  table.bars = std::move(bars);
  document.add(std::move(table));
  if (const auto scale = convergence.noise_scale()) {
    document.paragraph(
        fmt::format("critical batch: about {}, where training needs twice the minimum number of samples and twice the "
                    "minimum number of steps (McCandlish et al., 2018; fitted to these points, maximum error {}). Far below "
                    "it, doubling the batch halves the steps; far above it, doubling saves no steps",
                    two_digits(scale->critical_batch), share_text(scale->worst_error)));
  } else {
    document.paragraph("critical batch: unknown, since the samples do not grow with these batches");
  }
  document.paragraph((convergence.model.empty() ? "given by " : "published: ") + convergence.source);
}

nlohmann::ordered_json convergence_to_json(const Convergence& convergence) {
  const auto scale = convergence.noise_scale();
  return {{"target", convergence.target},
          {"source", convergence.source},
          {"critical_batch", scale ? Json(scale->critical_batch) : Json(nullptr)},
          {"worst_error", scale ? Json(scale->worst_error) : Json(nullptr)},
          {"points", json_list(convergence.points, [](const ConvergencePoint& point) -> Json {
             return {{"batch", point.batch}, {"samples", point.samples}, {"runs", point.runs}};
           })}};
}

}  // namespace ddl
