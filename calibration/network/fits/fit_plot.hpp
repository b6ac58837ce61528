#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/fits/fit.hpp"

namespace ddl {

/// The curve of one rank count in a plot: the measured points, and the fit as line segments, which end at jumps.
struct PlotCurve {
  int ranks = 0;
  int nodes = 0;  ///< 0: unknown
  struct Point {
    double bytes = 0;
    double seconds = 0;
  };
  std::vector<Point> measured{};
  std::vector<std::vector<Point>> fitted{};
};

/// The extent of a plot: all points and lines, with a margin of at most a decade on each side. A
/// logarithmic axis cannot show sizes of 0.
struct PlotFrame {
  double min_bytes = 1, max_bytes = 1;
  double min_seconds = 1, max_seconds = 1;
};

/// The curves by rank count. `columns`: the number of sizes at which the fitted line is evaluated.
[[nodiscard]] std::vector<PlotCurve> plot_curves(const ExchangeFit& fit, std::span<const ExchangeSeries> series,
                                                 int columns);
[[nodiscard]] PlotFrame frame_of(std::span<const PlotCurve> curves);
/// Returns "allreduce, 8 ranks on 2 nodes", and further properties that distinguish the fit from other fits.
[[nodiscard]] std::string title_of(const ExchangeFit& fit);
[[nodiscard]] std::string label_of(const PlotCurve& curve);

/// Returns a plot as text: measured and fitted times over message size, with logarithmic axes, at most `width` columns wide.
[[nodiscard]] std::string plot_text(const ExchangeFit& fit, std::span<const ExchangeSeries> series, int width = 78);
/// Plots curves as text. At least one curve must have points. `marks`: a mark in front of the label
/// of each curve. `line`: an explanation of the drawn lines; empty if there are none.
[[nodiscard]] std::string plot_text(const std::string& title, std::span<const PlotCurve> curves, const std::string& marks,
                                    const std::string& line, int width = 78);
/// Returns a plot of the measured and fitted times as an SVG document. `series` is the input of `fit_exchanges`.
[[nodiscard]] std::string plot_svg(const ExchangeFit& fit, std::span<const ExchangeSeries> series);

}  // namespace ddl
