#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace ddl {

/// The colours of a chart. Each output format defines the look of each colour.
enum class Tone { sky, blue, green, vermilion, orange, yellow, purple, brown, grey, dark };

/// The meaning of one colour of a chart.
struct Kind {
  std::string name;  ///< empty if an earlier Kind with this colour has the name
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
  std::string text{};  ///< complete description; only used for the shape `points`
};
/// Points, or a line through them, in one colour. The shape `area` is filled down to the horizontal axis.
struct Curve {
  enum class Shape { line, dashes, area, points } shape = Shape::line;
  Kind kind;
  std::vector<PlotPoint> points;
};
struct Plot {
  ChartAxis x, y;
  std::vector<Curve> curves;
};

/// A drawing, given as values. Formats that cannot draw omit the drawing, because a table or a line
/// of the document has the same content.
struct Chart {
  std::string title;
  std::string description{};  ///< the content of the drawing as text
  std::variant<StackedBars, Lanes, Plot> drawing;
};

}  // namespace ddl
