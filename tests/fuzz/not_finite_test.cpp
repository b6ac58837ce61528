#include "tests/fuzz/not_finite.hpp"

#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("A figure that is not a number is found at any place") {
  for (const char* text : {"nan", "inf", "infinite", "-nan", "+inf", "takes nan ms", "(inf)", "a,-inf,b", "x\ninfinite\n",
                           "inf inf", "nan%", "a+inf"}) {
    CAPTURE(text);
    CHECK(has_figure_not_finite(text));
  }
}

TEST_CASE("A word that contains the letters of nan or inf is not a figure, and neither is a quoted or hyphened word") {
  for (const char* text : {"", "n", "in", "infiniband", "nanosecond", "banan", "1inf", "x-inf", "inf-x", "'nan'", "\"inf\"",
                           "inf.", "a.nan", "inf_", "infinitely", "finance", "information"}) {
    CAPTURE(text);
    CHECK_FALSE(has_figure_not_finite(text));
  }
}
