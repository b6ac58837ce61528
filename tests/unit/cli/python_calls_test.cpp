// Calls, literals and bindings in programs of Python. The language: docs.python.org, "The Python Language Reference",
// chapters 2, 4 and 6 to 8.

#include "cli/options/configurations/python_calls.hpp"

#include <algorithm>
#include <functional>
#include <set>
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

TEST_CASE("heads of classes and functions are no calls") {
  const std::vector<PythonCall> calls =
      python_calls("class A(Trainer):\n  async def B(self, x=f(1)):\n    pass\nclasses(2)\ndefine(3)\n");
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].function == "f");
  CHECK(calls[1].function == "classes");
  CHECK(calls[2].function == "define");
}

TEST_CASE("a call tells whether it has unpacked arguments") {
  for (const char* text : {"f(**a)", "f(1, *a)", "f(b=1,\n  # all others\n  **a,\n)", "f(g(1), **{'b': 2})"})
    CHECK(python_calls(text).at(0).has_unpacked);
  for (const char* text : {"f()", "f(a * b)", "f(a=b ** 2)", "f('*')", "f(g(**a))", "f([*a])"})
    CHECK_FALSE(python_calls(text).at(0).has_unpacked);
}

TEST_CASE("calls in more than 32 brackets are no calls, and the arguments around them no literals") {
  for (const std::size_t depth : {31U, 32U, 33U, 100'000U}) {
    std::string nested;
    for (std::size_t i = 0; i < depth; ++i) nested += "f(a=";
    nested += "1, b=2" + std::string(depth, ')') + "\ng(1)";
    const std::vector<PythonCall> calls = python_calls(nested);
    REQUIRE(calls.size() == std::min<std::size_t>(depth, 32) + 1);
    CHECK(calls.back().function == "g");
    CHECK((calls.front().arguments.at(0).text == "...") == (depth > 32));
    CHECK(calls[calls.size() - 2].arguments.size() == (depth > 32 ? 1 : 2));
  }
  const std::vector<PythonCall> calls = python_calls("f(a=" + std::string(40, '[') + std::string(40, ']') + ", b=1)");
  REQUIRE(calls.size() == 1);
  CHECK_FALSE(PythonNames("").literal(calls[0].arguments.at(0).text));
  CHECK(calls[0].arguments.at(1).text == "1");
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

TEST_CASE("a name that is bound a second time has no value") {
  for (const char* operation : {"//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^=", "@=", "+=", "-=", "*=", "/="}) {
    CAPTURE(operation);
    CHECK_FALSE(PythonNames("a = 4\na " + std::string(operation) + " 2\n").literal("a"));
  }
  for (const char* binding : {"a = 8",
                              "a = f()",
                              "x = a = 8",
                              "a = x = 8",
                              "a, n = 8, 2",
                              "(n, a) = 8, 2",
                              "[n, *a] = m",
                              "x = 1; a = 8",
                              "a: int = 8",
                              "a \\\n  = 8",
                              "for a in [1, 2]: pass",
                              "for n, (a, b) in m:\n  pass",
                              "with f() as a: pass",
                              "with f() as (n, a):\n  pass",
                              "with (f() as n, g() as a):\n  pass",
                              "try:\n  f()\nexcept E as a:\n  pass",
                              "def f():\n  global a\n  a = 8",
                              "if (a := 8) > 4: pass",
                              "f(n=(a := 8))",
                              "import a",
                              "import a.b",
                              "import n as a",
                              "from n import a",
                              "from n import (b as c,\n  d as a)",
                              "def a(): pass",
                              "class a: pass",
                              "if n: a = 8",
                              "if n:\n  a = 8",
                              "else: a = 8",
                              "a[0] = 8",
                              "a.append(8)",
                              "del a",
                              "match n:\n  case [a]: pass"}) {
    CAPTURE(binding);
    CHECK_FALSE(PythonNames("a = 4\n" + std::string(binding) + "\n").literal("a"));
    CHECK_FALSE(PythonNames(std::string(binding) + "\na = 4").literal("a"));
  }
}

TEST_CASE("uses of a name leave its value") {
  for (const char* use :
       {"f(a=8)", "f(n, a=[8],\n  b=a)", "n = a", "n = a == 8", "assert a != 8 and a <= 8 and a >= 8", "x[a] = 8",
        "m = [a for b in n]", "b.a = 8", "# a = 8", "s = 'a = 8'", "s = '''\na = 8\n'''", "for n in range(a): pass", "a = 4",
        "if a == 8: n = 3", "print(a); n = 8", "n: f(a=8) = 3", "def f(a=8) -> int: return a"}) {
    CAPTURE(use);
    CHECK(PythonNames("a = 4\n" + std::string(use) + "\n").literal("a") == "4");
  }
  CHECK(PythonNames("x = 1; a = 4").literal("a") == "4");
}

TEST_CASE("an expression that continues after a comment, or computes, is not a literal") {
  const PythonNames names("a = (4  # rows\n  * 2)\nb = 8-4\n");
  for (const char* unknown : {"a", "b", "4  # rows\n  * 2", "[4  # rows\n  * 2]", "2+2", "[[1]]", "[1", "[f(1)]"})
    CHECK_FALSE(names.literal(unknown));
  CHECK(names.literal("# rows\n4  # of text\n") == "4");
}

TEST_CASE("attributes that a program sets are known by their names") {
  const PythonNames names(
      "args.a = 1\nif x:\n  f(1).b, y.c = 1, 2\nmodel.config.d += 1\nz[args.n].e['k'] = 1\nself.n = 1\nself.args.g = 1\n"
      "args.n == 1\nf(args.n)\nx = args.n\n");
  CHECK(names.assigned_attributes() == std::set<std::string, std::less<>>{"a", "b", "c", "d", "e", "g"});
}

TEST_CASE("programs that are no Python are read to their end") {
  for (const char* text :
       {"= 4",   "=",   ":= 4",   "a = ",   "for",   "for a",        "as",     "as (", "\\",   "a \\\r", ")",
        "a = [", "def", "class(", "import", "async", "in async for", "a: = 4", "f(*",  "f(=)", "f(,)",   "."}) {
    CAPTURE(text);
    CHECK(python_calls(text).size() <= 1);
    CHECK_FALSE(PythonNames("x = 1\n" + std::string(text)).literal("b"));
  }
}

}  // namespace python_calls_tests
