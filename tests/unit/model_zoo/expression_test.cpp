#include "model_zoo/values/expression.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace expression_tests {

using namespace ddl;

namespace {

Parameters example() {
  Parameters parameters;
  parameters.set("width", value_of(std::string("64")));
  parameters.set("kind", value_of(std::string("bottleneck")));
  parameters.set("size", value_of(std::string("512x512")));
  parameters.set("flag", value_of(std::string("yes")));
  return parameters;
}

std::string value(const std::string& text) { return evaluate(text, example(), 16).text; }
bool holds(const std::string& text) { return evaluate_condition(text, example(), 16); }
std::string error_in(const std::string& text) {
  return error_of([&] { (void)evaluate(text, example(), 16); });
}

}  // namespace

TEST_CASE("arithmetic has the usual order") {
  CHECK(value("$width * 4") == "256");
  CHECK(value("2 + 3 * $width - 8 / 4") == "192");
  CHECK(value("(2 + 3) * -$width") == "-320");
  CHECK(value("$width - 1 - 1") == "62");
  CHECK(value("128 / 2 / 4") == "16");
  CHECK(value("$channels*2") == "32");
  CHECK(value("62 % 6") == "2");
  CHECK(value("(62 - 62 % 6) / 6") == "10");
  CHECK(value("$width % 1") == "0");
  CHECK(error_in("1 % 0") == "1 is divided by zero in '1 % 0'");
}

TEST_CASE("a lone parameter may be any text") {
  CHECK(value("$size") == "512x512");
  CHECK(value(" $kind ") == "bottleneck");
}

TEST_CASE("each dimension of a size is an expression") {
  CHECK(value("$width / 8 x $width") == "8x64");
  CHECK(value("$width x 2 x $width + 1") == "64x2x65");
  CHECK(error_in("$width x $widht") == "unknown parameter '$widht' in '$widht'\nhint: did you mean 'width'?");
  CHECK(error_in("$width x ") == "the expression ends where a value should follow in ''");
  // A long text with many dimensions is refused as a whole.
  std::string many = "$width";
  for (int i = 0; i < 1000; ++i) many += " x 1";
  CHECK(error_in(many).starts_with("more than 1000 characters"));
}

TEST_CASE("conditions compare numbers and words") {
  CHECK(holds("$width == 64"));
  CHECK(holds("$width * 4 != $channels"));
  CHECK_FALSE(holds("$width < 64"));
  CHECK(holds("$width <= 64 and $width >= 64"));
  CHECK(holds("$width > 100 or $kind == bottleneck"));
  CHECK_FALSE(holds("($width > 100 or $kind == bottleneck) and $channels == 1"));
  CHECK(holds("$flag"));
  CHECK(holds("yes"));
  CHECK_FALSE(holds("false or no"));
}

TEST_CASE("an inner name hides the same name outside") {
  const Parameters outer = example();
  Parameters inner(&outer);
  inner.set("width", value_of(std::int64_t{3}));
  CHECK(evaluate("$width", inner, std::nullopt).number == 3);
  CHECK(evaluate("$kind", inner, std::nullopt).text == "bottleneck");
}

TEST_CASE("expressions that have no value are refused with a reason") {
  CHECK(error_in("$widht") == "unknown parameter '$widht' in '$widht'\nhint: did you mean 'width'?");
  CHECK(error_in("$width / 3") == "64 / 3 is not a whole number in '$width / 3'");
  CHECK(error_in("$width / ($width - 64)") == "64 is divided by zero in '$width / ($width - 64)'");
  CHECK(error_in("$kind + 1") == "'bottleneck' is not a whole number in '$kind + 1'");
  CHECK(error_in("$width *") == "the expression ends where a value should follow in '$width *'");
  CHECK(error_in("($width") == "a ')' is missing in '($width'");
  CHECK(error_in("$width 3") == "'3' does not belong here in '$width 3'");
  CHECK(error_in("$ width") == "'$' without a name in '$ width'\nhint: write $name for the value of the parameter 'name'");
  CHECK(error_in("$width ^ 3") == "'^ 3' does not belong here in '$width ^ 3'");
  CHECK(error_in("9223372036854775807 + $width") ==
        "9223372036854775807 + 64 is too large in '9223372036854775807 + $width'");
  CHECK(error_in("99999999999999999999 * $width").starts_with("'99999999999999999999' is too large"));
  CHECK(error_in("$width and yes") ==
        "'64' is neither yes nor no in '$width and yes'\nhint: compare with ==, !=, <, <=, > or >=");
  CHECK(error_of([] { (void)evaluate("$channels", example(), std::nullopt); }) ==
        "'$channels' has no meaning here in '$channels'\nhint: $channels is the number of channels of a layer's input");
}

TEST_CASE("the smallest number can be neither negated nor divided by minus one") {
  CHECK(error_in("(-9223372036854775807 - 1) / -1").starts_with("-9223372036854775808 / -1 is too large"));
}

TEST_CASE("deep and long expressions are refused before they are evaluated") {
  CHECK(error_in(std::string(100, '(') + "1").starts_with("nested deeper than 64 levels"));
  CHECK(error_in(std::string(100, '-') + "1").starts_with("nested deeper than 64 levels"));
  CHECK(error_in("1" + std::string(2000, ' ') + "+ 1").starts_with("more than 1000 characters"));
  CHECK(value("((((((((((1))))))))))") == "1");
}

TEST_CASE("checking finds bad syntax and unknown names without values") {
  Parameters names;
  names.set("width", {});
  CHECK_NOTHROW(check_expression("$width / 3 + $channels > 2 and $width", names));
  CHECK(error_of([&] { check_expression("$width / $wide", names); }).starts_with("unknown parameter '$wide'"));
  CHECK(error_of([&] { check_expression("$width /", names); }).starts_with("the expression ends"));
}

}  // namespace expression_tests
