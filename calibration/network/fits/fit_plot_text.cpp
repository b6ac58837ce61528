#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibration/network/fits/fit_plot.hpp"
#include "core/units.hpp"

namespace ddl {

namespace {

constexpr int margin = 10;  // columns for the times next to the axis
int columns_of(int width) { return std::max(width - margin - 2, 20); }

}  // namespace

std::string plot_text(const ExchangeFit& fit, std::span<const ExchangeSeries> series, int width) {
  const std::vector<PlotCurve> curves = plot_curves(fit, series, 2 * columns_of(width));
  const bool any = std::any_of(curves.begin(), curves.end(), [](const PlotCurve& curve) { return !curve.measured.empty(); });
  if (!any) return title_of(fit) + ": nothing to plot\n";
  return plot_text(title_of(fit), curves, "measured, ", fit.refusal.empty() ? "fitted" : "", width);
}

std::string plot_text(const std::string& title, std::span<const PlotCurve> curves, const std::string& marks,
                      const std::string& line, int width) {
  constexpr int rows = 18;
  const int columns = columns_of(width);
  const PlotFrame frame = frame_of(curves);
  std::vector<std::string> grid(rows, std::string(static_cast<std::size_t>(columns), ' '));
  const auto place = [&](const PlotCurve::Point& point) -> char& {
    const double x = std::log(point.bytes / frame.min_bytes) / std::log(frame.max_bytes / frame.min_bytes);
    const double y = std::log(point.seconds / frame.min_seconds) / std::log(frame.max_seconds / frame.min_seconds);
    const int column = std::clamp(static_cast<int>(std::lround(x * (columns - 1))), 0, columns - 1);
    const int row = std::clamp(static_cast<int>(std::lround((1 - y) * (rows - 1))), 0, rows - 1);
    return grid[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  };
  const auto mark = [](std::size_t curve) { return curve < 26 ? static_cast<char>('a' + curve) : '*'; };
  for (const PlotCurve& curve : curves) {
    for (const auto& piece : curve.fitted) {
      for (const PlotCurve::Point& point : piece) place(point) = '-';
    }
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (const PlotCurve::Point& point : curves[i].measured) place(point) = mark(i);
  }

  std::string text = title + "\n";
  const double top = std::log(frame.max_seconds);
  const double bottom = std::log(frame.min_seconds);
  for (int row = 0; row < rows; ++row) {
    // A time is printed at every fourth line, and at the lowest line.
    const bool labelled = row % 4 == 0 || row == rows - 1;
    const double seconds = std::exp(top + (bottom - top) * row / (rows - 1));
    std::string drawn =
        fmt::format("{:>{}} |{}", labelled ? humanize(Seconds(seconds)) : "", margin, grid[static_cast<std::size_t>(row)]);
    drawn.erase(drawn.find_last_not_of(' ') + 1);
    text += drawn + "\n";
  }
  text += fmt::format("{:>{}} +{}\n", "", margin, std::string(static_cast<std::size_t>(columns), '-'));
  const std::string left = humanize(Bytes(frame.min_bytes));
  const std::string right = humanize(Bytes(frame.max_bytes));
  text += fmt::format("{:>{}}  {}{:>{}}\n", "", margin, left, right, columns - static_cast<int>(left.size()));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    text += fmt::format("{:>{}}  {}  {}{}\n", "", margin, mark(i), marks, label_of(curves[i]));
  }
  if (!line.empty()) text += fmt::format("{:>{}}  -  {}\n", "", margin, line);
  return text;
}

}  // namespace ddl
