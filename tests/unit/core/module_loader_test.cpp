#include "core/module_loader.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/core/thrower_module.hpp"

using namespace ddl;
using Catch::Matchers::EndsWith;

TEST_CASE("an error thrown within a module is caught with its own type") {
  const auto& module = load_module<ThrowerModule>("test-thrower", "ddl_thrower", "nothing");
  CHECK(error_of([&] { module.run(); }) == "thrown within\nhint: and caught outside");
}

TEST_CASE("loading a module again returns the same module") {
  CHECK(load_module("test-thrower", "ddl_thrower", "") == load_module("test-thrower", "ddl_thrower", ""));
}

TEST_CASE("a missing module is named, with its search folder and what to install") {
  const std::string error = error_of([] { static_cast<void>(load_module("absent", "ddl_absent", "libabsent-dev")); });
  CHECK_THAT(error, ContainsSubstring("this ddl-oracle has no module 'absent' in '" MODULE_FOLDER "'"));
  CHECK_THAT(error, ContainsSubstring("hint: install libabsent-dev, build again"));
}

TEST_CASE("for a file that is not a module, the error gives the reason") {
  const std::string error = error_of([] { static_cast<void>(load_module("test-broken", "ddl_broken", "libbroken-dev")); });
  CHECK_THAT(error, ContainsSubstring("cannot load '" MODULE_FOLDER "/test-broken.so': "));
  CHECK_THAT(error, EndsWith("hint: install libbroken-dev, and build again"));
}

TEST_CASE("for a module whose library is missing, the error names the library and how to find it") {
  const std::string error = error_of([] { static_cast<void>(load_module("test-lacking", "ddl_lacking", "libfar-dev")); });
  CHECK_THAT(error, ContainsSubstring("libtest-far-away.so: cannot open shared object file"));
  CHECK_THAT(error, EndsWith("hint: install libfar-dev, or name the folder of that library in LD_LIBRARY_PATH"));
}

TEST_CASE("a module of another build is refused") {
  const std::string foreign =
      "'" MODULE_FOLDER "/test-foreign.so' is of another version of ddl-oracle\nhint: install both from one build";
  // The module reports that it was built from another version.
  CHECK(error_of([] { static_cast<void>(load_module("test-foreign", "ddl_thrower", "")); }) == foreign);
  // The module does not export the requested symbol.
  CHECK_THAT(error_of([] { static_cast<void>(load_module("test-thrower", "ddl_other", "")); }),
             ContainsSubstring("another version"));
}
