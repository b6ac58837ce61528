#include "model_zoo/operations/attribute_values.hpp"

#include <array>
#include <fstream>
#include <set>
#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"
#include "tests/catch.hpp"

namespace attribute_values_tests {

using namespace ddl;

namespace {

std::string line_of(const Operation& operation) {
  const std::string attributes = operation.attributes();
  return std::string(operation.type()) + (attributes.empty() ? "" : " " + attributes);
}

std::set<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

}  // namespace

TEST_CASE("the lines of all layers of the bundled models equal the lines in stored profiles") {
  // tests/data/attribute_lines.txt contains lines that were printed before attributes were values
  // (see the README of that folder).
  const std::set<std::string> expected = lines_of_file(DATA_FOLDER "attribute_lines.txt");
  REQUIRE(expected.size() == 605);
  std::set<std::string> found;
  for (const std::string& name : model_names()) {
    for (const Layer& layer : load_model(name).layers) found.insert(line_of(*layer.operation));
  }
  for (const std::string& line : expected) {
    INFO(line);
    CHECK(found.contains(line));
  }
}

TEST_CASE("reading the line of a layer gives its typed attributes again") {
  std::set<std::string> seen;
  for (const std::string& name : model_names()) {
    for (const Layer& layer : load_model(name).layers) {
      if (layer.input_shapes.empty() || layer.operation->type() == "input") continue;
      const std::string line =
          print_problem(Problem{.operation = layer.operation, .inputs = layer.input_shapes, .output = layer.output_shape});
      if (!seen.insert(line).second) continue;
      INFO(line);
      const Problem read = parse_problem(line, "test");
      CHECK(read.operation->attribute_values() == layer.operation->attribute_values());
      CHECK(read.operation->lasting_values() == layer.operation->lasting_values());
      CHECK(print_problem(read) == line);
    }
  }
  CHECK(seen.size() > 1000);
}

TEST_CASE("lines of operations that no bundled model has are printed as they are read") {
  for (const std::string line : {
           "norm kind=group groups=4 scale=no bias=no in=8x5x5",
           "norm kind=rms bias=no in=8x5t",
           "norm kind=instance in=8x5x5",
           "activation kind=elu in_place=yes in=8",
           "attention heads=4 kv_heads=2 causal=yes window=3 fused=yes alibi=yes dropout=0.1 in=64x9t",
           "attention heads=2 buckets=32 tied=first in=48x9t",
           "convolution filters=same kernel=3x5 stride=2x1 padding=same dilation=2 groups=4 bias=no in=8x9x9",
           "convolution filters=8 kernel=3 padding=2 in=4x9",
           "transposed_convolution filters=4 kernel=3x3 stride=2 output_padding=1x0 groups=2 bias=no in=8x5x5",
           "pool kind=max kernel=3x3x3 stride=2x2x1 padding=1 ceil=yes in=2x7x7x7",
           "pool kind=average adaptive=7x1 in=2x9x9",
           "fully_connected features=8 experts=2 bias=no in=4x6t",
           "fully_connected features=8 tied=table in=4",
           "fully_connected features=8 adapter=2 in=4x6t",
           "fully_connected features=8 adapter=2 keys=2 adapted=5 in=4x6t",
           "resize kind=linear size=8x6 in=2x4x3",
           "scale factor=-0.25 in=4",
           "scale factor=1 in=4",
           "scale factor=1e-07 in=4",
           "scale factor=trained bias=yes in=4x3x3",
           "rotary_embedding heads=4 kv_heads=2 turned=4 in=64x9t",
           "window_attention heads=2 window=2x3 shift=1 in=12x4x6",
           "window_attention heads=2 window=7 in=12x14",
           "dropout rate=0.1 of=samples in=4",
           "lstm features=5 bidirectional=yes in=4x3t",
           "select token=last in=4x3t",
           "loss kind=mse in=4",
       }) {
    INFO(line);
    const Problem problem = parse_problem(line, "test");
    const std::string printed = print_problem(problem);
    CHECK(printed == line + " samples=1 precision=fp32 pass=forward");
    CHECK(parse_problem(printed, "test").operation->attribute_values() == problem.operation->attribute_values());
  }
}

TEST_CASE("the attributes of an operation have types") {
  const Problem problem = parse_problem("convolution filters=8 kernel=3x5 padding=1x2 bias=no in=4x9x9", "test");
  const AttributeValues attributes = problem.operation->attribute_values();
  CHECK(attributes == AttributeValues{{"filters", 8},
                                      {"kernel", AttributeSizes{{3, 5, 1}, 2}},
                                      {"padding", AttributeSizes{{1, 2, 0}, 2, true}},
                                      {"bias", false}});
  CHECK(attributes.integer("filters", 0) == 8);
  CHECK(attributes.number("filters", 0) == 8.0);
  CHECK(attributes.sizes("kernel", 1) == std::array<std::int64_t, 3>{3, 5, 1});
  CHECK(attributes.sizes("padding", 0) == std::array<std::int64_t, 3>{1, 2, 0});
  CHECK_FALSE(attributes.flag("bias", true));
  CHECK(parse_problem("dropout rate=0.25 in=4", "test").operation->attribute_values().number("rate", 0) == 0.25);
}

TEST_CASE("a missing attribute has the caller's default") {
  const AttributeValues attributes{{"heads", 2}};
  CHECK(attributes.has("heads"));
  CHECK_FALSE(attributes.has("groups"));
  CHECK(attributes.integer("groups", 3) == 3);
  CHECK(attributes.number("rate", 0.5) == 0.5);
  CHECK(attributes.flag("causal", true));
  CHECK(attributes.text("kind", "none") == "none");
  CHECK(attributes.sizes("stride", 1) == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK(attributes.sizes("heads", 1) == std::array<std::int64_t, 3>{2, 2, 2});
}

TEST_CASE("a value of another type is an error, and a number is not text") {
  const AttributeValues attributes{
      {"kernel", AttributeSizes{{3, 5, 1}, 2}}, {"rate", 0.5}, {"padding", "same"}, {"of", true}};
  CHECK_THROWS_WITH(attributes.integer("kernel", 1), "the attribute kernel=3x5 is not a whole number");
  CHECK_THROWS_WITH(attributes.integer("rate", 1), "the attribute rate=0.5 is not a whole number");
  CHECK_THROWS_WITH(attributes.number("padding", 1), "the attribute padding=same is not a number");
  CHECK_THROWS_WITH(attributes.flag("padding", false), "the attribute padding=same is neither yes nor no");
  CHECK_THROWS_WITH(attributes.sizes("of", 1), "the attribute of=yes is not a size");
  CHECK(attributes.text("padding") == "same");
  CHECK(attributes.text("kernel").empty());
}

TEST_CASE("values are printed in the syntax of model files") {
  CHECK(print_attributes({}).empty());
  CHECK(print_attributes({{"filters", 64},
                          {"kernel", AttributeSizes{{3, 3, 1}, 2}},
                          {"stride", AttributeSizes{{2, 2, 1}, 2, true}},
                          {"padding", AttributeSizes{{1, 0, 0}, 2, true}},
                          {"rate", 0.1},
                          {"factor", 1.0},
                          {"causal", true},
                          {"bias", false},
                          {"kind", "relu"}}) ==
        "filters=64 kernel=3x3 stride=2 padding=1x0 rate=0.1 factor=1 causal=yes bias=no kind=relu");
}

}  // namespace attribute_values_tests
