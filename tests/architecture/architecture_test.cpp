#include <filesystem>
#include <string>
#include <vector>

#include "tests/architecture/rules.hpp"
#include "tests/catch.hpp"

namespace {

const std::filesystem::path source_folder = SOURCE_FOLDER;
const std::filesystem::path fixtures = source_folder / "tests/architecture/fixtures";

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("the source tree has no violation of the architecture") {
  REQUIRE(std::filesystem::exists(source_folder / "core/error.hpp"));
  const std::vector<std::string> violations = ddl::architecture_violations(source_folder);
  INFO(joined(violations));
  CHECK(violations.empty());
}

TEST_CASE("a tree without violations of the architecture passes") {
  REQUIRE(std::filesystem::exists(fixtures / "good/cli/main.cpp"));
  CHECK(joined(ddl::architecture_violations(fixtures / "good")).empty());
}

TEST_CASE("every include that violates the order of the modules is found") {
  CHECK(joined(ddl::architecture_violations(fixtures / "bad_includes")) ==
        "calibration/includes.cpp:2: calibration must not include cli\n"
        "calibration/includes.cpp:3: calibration must not include tests\n"
        "cli/includes.cpp:1: cli must not include tests\n"
        "cli/includes.cpp:2: 'beside.hpp' does not start at the top folder\n"
        "core/includes.hpp:1: core must not include model_zoo\n"
        "core/includes.hpp:2: core must not include profiler\n"
        "core/includes.hpp:3: core must not include estimator\n"
        "core/includes.hpp:4: core must not include calibration\n"
        "core/includes.hpp:5: core must not include cli\n"
        "core/includes.hpp:6: core must not include tests\n"
        "estimator/includes.cpp:1: estimator must not include profiler\n"
        "estimator/includes.cpp:2: estimator must not include calibration\n"
        "estimator/includes.cpp:3: estimator must not include cli\n"
        "estimator/includes.cpp:4: estimator must not include tests\n"
        "model_zoo/includes.cpp:1: model_zoo must not include profiler\n"
        "model_zoo/includes.cpp:2: model_zoo must not include estimator\n"
        "model_zoo/includes.cpp:3: model_zoo must not include calibration\n"
        "model_zoo/includes.cpp:4: model_zoo must not include cli\n"
        "model_zoo/includes.cpp:5: model_zoo must not include tests\n"
        "profiler/cuda/includes.cu:1: profiler must not include estimator\n"
        "profiler/cuda/includes.cu:2: profiler must not include calibration\n"
        "profiler/cuda/includes.cu:3: profiler must not include cli\n"
        "profiler/cuda/includes.cu:4: profiler must not include tests\n");
}

TEST_CASE("files, streams, clock, YAML and randomness are found in the estimator") {
  CHECK(joined(ddl::architecture_violations(fixtures / "impure_estimator")) ==
        "estimator/impure.cpp:10: estimator must be pure: no core/csv.hpp\n"
        "estimator/impure.cpp:11: estimator must be pure: no core/source_text.hpp\n"
        "estimator/impure.cpp:13: estimator must be pure: no rand\n"
        "estimator/impure.cpp:14: estimator must be pure: no std::time\n"
        "estimator/impure.cpp:1: estimator must be pure: no fstream\n"
        "estimator/impure.cpp:2: estimator must be pure: no filesystem\n"
        "estimator/impure.cpp:3: estimator must be pure: no chrono\n"
        "estimator/impure.cpp:4: estimator must be pure: no random\n"
        "estimator/impure.cpp:5: estimator must be pure: no yaml-cpp/yaml.h\n"
        "estimator/impure.cpp:6: estimator must be pure: no iostream\n"
        "estimator/impure.cpp:7: estimator must be pure: no cstdio\n"
        "estimator/impure.cpp:8: estimator must be pure: no ctime\n"
        "estimator/impure.cpp:9: estimator must be pure: no core/yaml_node.hpp\n");
}

TEST_CASE("sentences are found in the estimator, and allowed in other modules") {
  CHECK(joined(ddl::architecture_violations(fixtures / "estimator_sentences")) ==
        "estimator/step/reason.cpp:1: estimator writes no sentences: no fmt/format.h\n"
        "estimator/step/reason.cpp:3: estimator writes no sentences: no core/units.hpp\n");
}

TEST_CASE("an end of the process outside main is found") {
  CHECK(joined(ddl::architecture_violations(fixtures / "ends_process")) ==
        "cli/run.cpp:1: exit outside cli/main.cpp: throw ddl::Error\n"
        "core/error.cpp:2: abort outside cli/main.cpp: throw ddl::Error\n"
        "core/error.cpp:3: terminate outside cli/main.cpp: throw ddl::Error\n");
}

TEST_CASE("a preprocessor condition outside a back end is found") {
  CHECK(joined(ddl::architecture_violations(fixtures / "conditions")) ==
        "core/platform.hpp:1: #ifndef outside a back end's own folder\n"
        "core/platform.hpp:3: #if outside a back end's own folder\n"
        "core/platform.hpp:4: #elif outside a back end's own folder\n"
        "core/platform.hpp:5: #endif outside a back end's own folder\n"
        "core/platform.hpp:6: #endif outside a back end's own folder\n"
        "profiler/registry.cpp:1: #ifdef outside a back end's own folder\n"
        "profiler/registry.cpp:2: #endif outside a back end's own folder\n");
}

TEST_CASE("folders that include each other in a circle are found, except a folder and its subfolders") {
  CHECK(joined(ddl::architecture_violations(fixtures / "circles")) ==
        "estimator/memory/peak.hpp:1: estimator: memory includes step, which leads back to it\n"
        "estimator/plan/plan.hpp:1: estimator: plan includes memory, which leads back to it\n"
        "estimator/step/step.hpp:1: estimator: step includes plan, which leads back to it\n"
        "model_zoo/model.hpp:1: model_zoo: . includes operations, which leads back to it\n"
        "model_zoo/operations/add.hpp:1: model_zoo: operations includes ., which leads back to it\n");
}

TEST_CASE("two types of one name are found, unless their scopes differ") {
  CHECK(joined(ddl::architecture_violations(fixtures / "two_types")) ==
        "ddl::Same: in estimator/first.hpp and in profiler/second.hpp: two types of one name\n");
}

TEST_CASE("a file that no CMakeLists.txt lists is found") {
  CHECK(joined(ddl::architecture_violations(fixtures / "unlisted")) ==
        "core/commented_out.cpp: not listed in a CMakeLists.txt\n"
        "core/other.cpp: not listed in a CMakeLists.txt\n"
        "model_zoo/models/forgotten.yaml: not listed in a CMakeLists.txt\n"
        "tests/cli/forgotten.transcript: not listed in a CMakeLists.txt\n"
        "tests/unit/forgotten_test.cpp: not listed in a CMakeLists.txt\n");
}
