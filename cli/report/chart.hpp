#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace ddl {

/// Colours that a chart tells apart; what each looks like is a format's.
enum class Tone { sky, blue, green, vermilion, orange, yellow, purple, brown, grey, dark };

/// What one colour of a chart stands for.
struct Kind {
  std::string name;  ///< empty for what belongs to another kind of that colour
  Tone tone = Tone::grey;
};

/// A bar that is stacked of one value for each kind, all in one unit.
struct Bar {
  std::string label;  ///< what it is of
  std::string sum;    ///< all of it, in words
  std::vector<double> values;
  std::vector<std::string> texts;  ///< of the values
};
struct StackedBars {
  std::string unit;  ///< of the values: `s`, `bytes`
  std::vector<Kind> kinds;
  std::vector<Bar> bars;
  double limit = 0;  ///< a line across the bars; 0 for none
  std::string limit_name{};
};

/// Some time of a lane.
struct LaneSlice {
  double begin = 0, end = 0;
  std::size_t kind = 0;
  std::string label{};  ///< a few letters that stand in it, where there is room
  std::string text{};   ///< all about it
};
struct Lane {
  std::string name;
  std::vector<LaneSlice> slices;
};
/// What several things do over one time.
struct Lanes {
  std::vector<Kind> kinds;
  std::vector<Lane> lanes;
  double length = 0;
  std::string unit;   ///< of times as they are shown: `ms`
  double factor = 1;  ///< of a time into that unit
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
  std::string text{};  ///< all about it; of points alone
};
/// Points of one kind. An area is filled down to the horizontal axis.
struct Curve {
  enum class Shape { line, dashes, area, points } shape = Shape::line;
  Kind kind;
  std::vector<PlotPoint> points;
};
struct Plot {
  ChartAxis x, y;
  std::vector<Curve> curves;
};

/// A drawing as values. Formats that cannot draw leave it out: whatever it shows stands in a table or a line, too.
struct Chart {
  std::string title;
  std::string description{};  ///< the same in words
  std::variant<StackedBars, Lanes, Plot> drawing;
};

}  // namespace ddl
