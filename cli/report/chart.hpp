#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddl {

/// The colors of a chart. Each output format defines the look of each color.
enum class Tone { sky, blue, green, vermilion, orange, yellow, purple, brown, grey, dark, pale };

/// The meaning of one color of a chart.
struct Kind {
  std::string name;  ///< empty if an earlier Kind with this color has the name
  Tone tone = Tone::grey;
};

/// A stacked bar with one value for each Kind of the chart. All values have the same unit.
struct Bar {
  std::string label;  ///< the label of the bar
  std::string sum;    ///< the total, as text
  std::vector<double> values;
  std::vector<std::string> texts;  ///< each value as text
};
struct StackedBars {
  std::string unit;  ///< unit of the values: `s`, `bytes`
  std::vector<Kind> kinds;
  std::vector<Bar> bars;
  double limit = 0;  ///< position of a line across the bars; 0 for none
  std::string limit_name{};
};

/// An interval on a lane of a timeline.
struct LaneSlice {
  double begin = 0, end = 0;
  std::size_t kind = 0;
  std::string label{};  ///< a few letters, drawn in the slice if they fit
  std::string text{};   ///< complete description
};
struct Lane {
  std::string name;
  std::vector<LaneSlice> slices;
  bool is_narrow = false;  ///< whether the lane belongs to the lane above it, and is drawn with half of its height
};
/// A timeline of parallel activities, with one lane for each activity.
struct Lanes {
  std::vector<Kind> kinds;
  std::vector<Lane> lanes;
  double length = 0;
  std::string unit;   ///< unit of displayed times: `ms`
  double factor = 1;  ///< factor from a time to `unit`
};

struct Tick {
  double at = 0;
  std::string text;
};
struct ChartAxis {
  std::string title;
  bool logarithmic = false;
  double from = 0, to = 1;
  std::vector<Tick> ticks{};
};
struct PlotPoint {
  double x = 0, y = 0;
  std::string text{};   ///< complete description; only used for the shape `points`
  std::string label{};  ///< a few letters, drawn at the point
  bool is_chosen = false;
  /// The positions that the point may have, from one end of its interval to the other. They are drawn as a line.
  std::vector<std::pair<double, double>> interval{};
};
/// Points, or a line through them, in one color. The shapes `area` and `layer` are filled down to the horizontal axis.
/// Areas are transparent. Layers are opaque: a later layer covers the lower part of an earlier one.
struct Curve {
  enum class Shape { line, dashes, area, layer, points } shape = Shape::line;
  Kind kind;
  std::vector<PlotPoint> points;
};
/// A part of the plot that is shaded because it breaks a limit: all positions above `x` or above `y`.
struct Forbidden {
  std::optional<double> x{}, y{};
  std::string name;
};
struct Plot {
  ChartAxis x, y;
  std::vector<Curve> curves;
  std::vector<Forbidden> forbidden{};
};

/// A value with its interval, drawn as a dot on a line.
struct Whisker {
  std::string label, figure;  ///< the name of the row, and the value as text
  double value = 0;
  double low = 0, high = 0;  ///< the ends of the interval; both equal `value` without an interval
  std::string text{};        ///< complete description
  bool is_chosen = false;
  bool is_faint = false;  ///< drawn paler, because it is not as good as others for another reason than its value
};
/// Consecutive rows that cannot be distinguished.
struct TieBand {
  std::size_t first = 0, last = 0;  ///< counted from 0
};
/// Rows of values on a common axis.
struct Whiskers {
  ChartAxis x;
  std::vector<Whisker> rows;
  std::vector<TieBand> ties{};
  std::string interval_name, tie_name, chosen_name;
};

/// A value on a scale, with the range in which it lies.
struct Gauge {
  double value = 0, low = 0, high = 0;
  double from = 0, to = 1;  ///< the scale
  bool is_filled = true;    ///< whether the bar begins at the start of the scale; else only the range is drawn
  std::string text;         ///< complete description
};
enum class Grade { none, good, risk, bad };
/// One fact of an answer: a few words or one figure in large letters, and what explains it.
struct Card {
  std::string label, figure;
  std::string about{};  ///< follows the figure: `per step`
  std::string badge{};  ///< a verdict in one word
  Grade grade = Grade::none;
  std::optional<Gauge> gauge{};
  std::vector<std::string> details{};
};
struct Cards {
  std::vector<Card> cards;
};

/// A drawing, given as values. Formats that cannot draw omit the drawing, because a table or a line
/// of the document has the same content.
struct Chart {
  std::string title;
  std::string description{};  ///< the content of the drawing as text
  std::variant<StackedBars, Lanes, Plot, Whiskers, Cards> drawing;
};

}  // namespace ddl
