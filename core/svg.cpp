#include "core/svg.hpp"

#include <fmt/format.h>

#include "core/xml_text.hpp"

namespace ddl {
namespace {

std::string coordinates(std::span<const SvgPoint> points) {
  std::string text;
  for (const SvgPoint& point : points) text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", point.x, point.y);
  return text;
}

}  // namespace

SvgDrawing::SvgDrawing(double width, double height)
    : shapes_(fmt::format(
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
          "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" "
          "height=\"{1}\" fill=\"white\"/>\n",
          width, height)) {}

void SvgDrawing::text(double x, double y, std::string_view anchor, std::string_view text, std::string_view more) {
  shapes_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, xml_text(text));
}

void SvgDrawing::line(SvgPoint from, SvgPoint to, std::string_view colour, std::string_view more) {
  shapes_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", from.x, from.y,
                         to.x, to.y, colour, more);
}

void SvgDrawing::polyline(std::span<const SvgPoint> points, std::string_view colour, std::string_view more) {
  shapes_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"{}/>\n", coordinates(points), colour, more);
}

void SvgDrawing::polygon(std::span<const SvgPoint> points, std::string_view colour) {
  shapes_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.25\" stroke=\"{}\"/>\n", coordinates(points),
                         colour, colour);
}

void SvgDrawing::disc(SvgPoint centre, double radius, std::string_view colour) {
  shapes_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", centre.x, centre.y, radius, colour);
}

void SvgDrawing::frame(SvgPoint corner, double width, double height) {
  shapes_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"black\"/>\n",
                  corner.x, corner.y, width, height);
}

std::string SvgDrawing::file() const { return shapes_ + "</svg>\n"; }

}  // namespace ddl
