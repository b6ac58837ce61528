#include "core/svg.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace ddl {

TEST_CASE("a drawing is one document, its shapes in the order they were drawn") {
  SvgDrawing drawing(760, 480.5);
  drawing.line({1, 2}, {3.25, 4}, "black", " stroke-width=\"2\"");
  drawing.polyline(std::vector<SvgPoint>{{0, 0}, {1.06, 2}}, svg_colours[0]);
  drawing.polygon(std::vector<SvgPoint>{{0, 0}, {1, 0}, {1, 1}}, "red");
  drawing.disc({5, 6}, 2.5, "blue");
  drawing.frame({80, 40}, 100, 50);
  CHECK(drawing.file() ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"480.5\" viewBox=\"0 0 760 480.5\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"760\" height=\"480.5\" fill=\"white\"/>\n"
        "<line x1=\"1.0\" y1=\"2.0\" x2=\"3.2\" y2=\"4.0\" stroke=\"black\" stroke-width=\"2\"/>\n"
        "<polyline points=\"0.0,0.0 1.1,2.0\" fill=\"none\" stroke=\"#0072B2\"/>\n"
        "<polygon points=\"0.0,0.0 1.0,0.0 1.0,1.0\" fill=\"red\" fill-opacity=\"0.25\" stroke=\"red\"/>\n"
        "<circle cx=\"5.0\" cy=\"6.0\" r=\"2.5\" fill=\"blue\"/>\n"
        "<rect x=\"80.0\" y=\"40.0\" width=\"100.0\" height=\"50.0\" fill=\"none\" stroke=\"black\"/>\n"
        "</svg>\n");
}

TEST_CASE("no text can close its XML element") {
  SvgDrawing drawing(10, 10);
  drawing.text(1, 2, "end", "</text><script> & \"x\"\x01", " font-size=\"14\"");
  const std::string file = drawing.file();
  CHECK(file.find("<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\" font-size=\"14\">&lt;/text&gt;&lt;script&gt; &amp; "
                  "&quot;x&quot;?</text>\n") != std::string::npos);
}

}  // namespace ddl
