// Fuzzes a plan in JSON, or a report that contains a plan: a parsed plan is written, and parsed back to the same plan.

#include "cli/options/plan_file.hpp"

#include <nlohmann/json.hpp>

#include "cli/report/fields.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddl::succeeds([&] {
    const ddl::Plan plan = ddl::read_plan(ddl::text_of(data, size), "plan.json").plan;
    const std::string written = ddl::json_of(ddl::plan_fields(), plan).dump();
    bool same = false;
    ddl::require(ddl::succeeds([&] { same = ddl::read_plan(written, "written.json").plan == plan; }),
                 "a plan is refused as it was written");
    ddl::require(same, "a plan is read back as another one");
    static_cast<void>(ddl::choices_text(plan));
    static_cast<void>(ddl::placement_text(plan));
  });
  return 0;
}
