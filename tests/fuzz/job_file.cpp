// Fuzzes a job: a parsed job is written, and parsed back to the same job.

#include "cli/options/job_file.hpp"

#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = ddl::result_of([&] { return ddl::parse_job(ddl::text_of(data, size), "job.yaml"); });
  if (!parsed) return 0;
  ddl::require(parsed->job.plan.mesh.devices() >= 1, "a plan without devices");
  ddl::require(parsed->job.plan.global_batch >= 1, "a batch without samples");
  const auto again = ddl::result_of([&] { return ddl::parse_job(ddl::print_job(parsed->job), "written.yaml"); });
  ddl::require(again.has_value(), "a job is refused as it was written");
  ddl::require(again->job == parsed->job, "a job is read back as another one");
  static_cast<void>(ddl::spec_of(parsed->job, "jobs"));
  const ddl::FileOfText file(ddl::text_of(data, size), ".job.yaml");
  ddl::look_at_reports({"check", file.path()}, {"text", "json", "github", "junit"}, ddl::text_of(data, size));
  return 0;
}
