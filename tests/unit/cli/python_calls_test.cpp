// Calls and literals in programs of Python. The language: docs.python.org, "The Python Language Reference", chapters 2
// and 6.

#include "cli/options/configurations/python_calls.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace python_calls_tests {

using namespace ddl;

TEST_CASE("calls are found in order, with names and places of their arguments") {
  const std::string text =
      "x = f(1, a=[2, 3],\n  b='(,',  # c=4\n  d=g.h(k=5) )\n# skipped(1)\ns = \"\"\"no(call)\"\"\"\nf()\n";
  const std::vector<PythonCall> calls = python_calls(text);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].function == "f");
  REQUIRE(calls[0].arguments.size() == 4);
  CHECK(calls[0].arguments[0].name.empty());
  CHECK(calls[0].arguments[0].text == "1");
  CHECK(calls[0].arguments[1].name == "a");
  CHECK(calls[0].arguments[1].text == "[2, 3]");
  CHECK(calls[0].arguments[2].text == "'(,'");
  CHECK(calls[0].arguments[3].name == "d");
  CHECK(calls[1].function == "g.h");
  for (const PythonArgument& argument : calls[0].arguments)
    CHECK(text.compare(argument.offset, argument.text.size(), argument.text) == 0);
  CHECK(calls[2].arguments.empty());
}

TEST_CASE("a comparison is no named argument") {
  const std::vector<PythonCall> calls = python_calls("f(a == 1, b<=2)");
  REQUIRE(calls.size() == 1);
  for (const PythonArgument& argument : calls[0].arguments) CHECK(argument.name.empty());
}

TEST_CASE("a text that ends within a call has no such call") {
  CHECK(python_calls("f(a, (b").empty());
  CHECK(python_calls("f('a").empty());
  CHECK(python_calls(std::string(100'000, '(')).empty());
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "f(";
  CHECK(python_calls(nested).empty());
}

TEST_CASE("literals and names that are set once have values") {
  const PythonNames names(
      "a = 4\nb: int = 1_000  # tokens\nc = 'x/y'\nif a:\n  a2 = 1\nd = 1\nd = 2\ne = f(\n  a=9,\n)\ng = 1\ng += 1\nm = [\n "
      " 'q',  # first\n  'v',\n]\nn = 3\n");
  CHECK(names.literal("a") == "4");
  CHECK(names.literal("b") == "1000");
  CHECK(names.literal("c") == "x/y");
  for (const char* unknown : {"a2", "d", "e", "g", "h", "a + 1", "f(a)", "[a, h]", "f'{a}'", "'a\\n'"})
    CHECK_FALSE(names.literal(unknown));
  CHECK(names.literal("m") == "q v");
  CHECK(names.literal("n") == "3");
  CHECK(names.literal("-1e-4") == "-1e-4");
  CHECK(names.literal("True") == "True");
  CHECK(names.literal("None") == "null");
  CHECK(names.literal("torch.bfloat16") == "bfloat16");
  CHECK(names.literal("[\"q\", 'v']  # both") == "q v");
  CHECK(names.literal("(1, 2)") == "1 2");
}

}  // namespace python_calls_tests
