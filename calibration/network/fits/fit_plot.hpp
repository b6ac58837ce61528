#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/fits/fit.hpp"

namespace ddl {

/// One rank count of a plot: the measured points, and the fit as line segments, broken at jumps.
struct PlotCurve {
  int ranks = 0;
  int nodes = 0;  ///< 0: not known
  struct Point {
    double bytes = 0;
    double seconds = 0;
  };
  std::vector<Point> measured{};
  std::vector<std::vector<Point>> fitted{};
};

/// A margin of a decade or less on each side around all points and lines. Sizes of 0 cannot be shown on a logarithmic axis.
struct PlotFrame {
  double min_bytes = 1, max_bytes = 1;
  double min_seconds = 1, max_seconds = 1;
};

/// By rank count. `columns`: the number of sizes at which the fitted line is evaluated.
[[nodiscard]] std::vector<PlotCurve> plot_curves(const ExchangeFit& fit, std::span<const ExchangeSeries> series,
                                                 int columns);
[[nodiscard]] PlotFrame frame_of(std::span<const PlotCurve> curves);
/// "allreduce, 8 ranks on 2 nodes" and whatever else distinguishes a fit from others.
[[nodiscard]] std::string title_of(const ExchangeFit& fit);
[[nodiscard]] std::string label_of(const PlotCurve& curve);

/// Measured and fitted times against message size, both axes logarithmic, as text at most `width` columns wide.
[[nodiscard]] std::string plot_text(const ExchangeFit& fit, std::span<const ExchangeSeries> series, int width = 78);
/// The same for any curves, at least one of which has points: `marks` precede the label of each, `line` explains the drawn
/// lines; empty if there are none.
[[nodiscard]] std::string plot_text(const std::string& title, std::span<const PlotCurve> curves, const std::string& marks,
                                    const std::string& line, int width = 78);
/// The same as an SVG document. `series` is the input of `fit_exchanges`.
[[nodiscard]] std::string plot_svg(const ExchangeFit& fit, std::span<const ExchangeSeries> series);

}  // namespace ddl
