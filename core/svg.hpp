#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// Colors that color-blind readers can distinguish [Okabe and Ito, Color Universal Design, 2008]: blue, vermilion, green,
/// purple, orange, sky blue, black.
inline constexpr std::array<std::string_view, 7> svg_colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                             "#E69F00", "#56B4E9", "#000000"};

struct SvgPoint {
  double x = 0, y = 0;
};

/// An SVG drawing, which grows shape by shape. Coordinates are in pixels from the upper left
/// corner. `more`: further attributes of a shape, with a space before each: ` stroke-width="2"`.
class SvgDrawing {
 public:
  /// Creates a drawing with a white background and sans-serif text of 12 pixels.
  SvgDrawing(double width, double height);

  /// `anchor`: the point of the text that is at x: start, middle or end. The text may contain any characters.
  void text(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = "");
  void line(SvgPoint from, SvgPoint to, std::string_view colour, std::string_view more = "");
  void polyline(std::span<const SvgPoint> points, std::string_view colour, std::string_view more = "");
  /// A polygon filled with a transparent color.
  void polygon(std::span<const SvgPoint> points, std::string_view colour);
  void disc(SvgPoint centre, double radius, std::string_view colour);
  void frame(SvgPoint corner, double width, double height);

  [[nodiscard]] std::string file() const;

 private:
  std::string shapes_;
};

}  // namespace ddl
