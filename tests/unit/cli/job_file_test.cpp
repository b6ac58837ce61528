#include "cli/options/job_file.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace job_file_tests {

using namespace ddl;

namespace {

/// Generates jobs of all kinds, equal in each call of the test.
class RandomJobs {
 public:
  JobFile next() {
    JobFile job;
    job.model = name();
    job.machine = name();
    if (flip()) job.dataset = name();
    if (flip()) job.coefficients = name();
    if (flip()) {
      job.profiles = {name(), name()};
      job.any_device = flip();
    }
    Plan& plan = job.plan;
    for (int& degree : plan.mesh.degrees()) {
      if (flip()) degree = static_cast<int>(number(1, 5));
    }
    plan.micro_batches = number(1, 8);
    plan.schedule = flip() ? Schedule::gpipe : Schedule::one_forward_one_backward;
    plan.zero_stage = static_cast<int>(number(0, 3));
    plan.recompute = flip() ? Recompute::full : Recompute::none;
    if (flip()) std::shuffle(plan.placement.begin(), plan.placement.end(), engine_);
    if (flip()) job.precision = plan.precision = enum_values<Precision>[static_cast<std::size_t>(number(0, 3))];
    if (flip()) job.optimizer = plan.optimizer = enum_values<Optimizer>[static_cast<std::size_t>(number(0, 6))];
    if (flip()) job.sequence = number(1, std::int64_t{1} << 31);
    add_settings(job.settings);
    if (flip()) {
      job.batch_per_gpu = number(1, 64);
      plan.global_batch = *job.batch_per_gpu * plan.mesh.devices();
    } else {
      plan.global_batch = number(1, std::int64_t{1} << 40);
    }
    if (flip()) job.gpu_memory = Bytes(static_cast<double>(number(1, std::int64_t{1} << 46)));
    if (flip())
      job.margin = flip() ? Margin{{}, static_cast<double>(number(1, 999)) / 10}
                          : Margin{Bytes(static_cast<double>(number(0, 1 << 30))), 0};
    return job;
  }

 private:
  void add_settings(Settings& settings) {
    for (const SettingRow& row : setting_rows()) {
      if (!flip()) continue;
      const auto last = static_cast<std::int64_t>(row.kind == SettingKind::name ? row.names.size() - 1 : 1);
      double value = static_cast<double>(number(0, last));
      if (row.kind == SettingKind::number) value = row.least + value * (row.most - row.least) / 2;
      if (row.kind == SettingKind::whole_number)
        value = static_cast<double>(number(std::llround(row.least), std::llround(row.most)));
      if (row.kind == SettingKind::percentile) value = static_cast<double>(number(500, 999)) / 10;
      if (row.kind == SettingKind::duration) value = static_cast<double>(number(0, 1000)) * 1e-6;
      if (row.kind == SettingKind::time || row.kind == SettingKind::bandwidth)
        value = std::max(row.least, 1.0) * static_cast<double>(number(1, 1000));
      if (row.kind == SettingKind::bytes) value = static_cast<double>(number(0, 1000));
      if (row.only_with.empty()) settings.set(row, {value, SettingOrigin::job, {}});
    }
    if (settings.number("input") == input_none) settings.set("input_exposed", {0, SettingOrigin::job, {}});
  }

  bool flip() { return number(0, 1) == 1; }
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::string name() {
    // Characters that YAML may interpret differently.
    const std::string letters = "ab1~-:#'\"\\{}[],&*!|>%@` ./?";
    std::string text;
    const std::int64_t length = number(1, 6);
    while (static_cast<std::int64_t>(text.size()) < length)
      text += letters[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(letters.size()) - 1))];
    return text;
  }
  std::mt19937 engine_{20261122};
};

const std::string head = "format: 1\nmodel: vgg16\nmachine: abci\nglobal_batch: 64\n";

}  // namespace

TEST_CASE("a job is read back as it was written") {
  RandomJobs jobs;
  for (int i = 0; i < 2000; ++i) {
    const JobFile job = jobs.next();
    const std::string text = print_job(job);
    CAPTURE(text);
    REQUIRE(parse_job(text, "job.yaml").job == job);
  }
}

TEST_CASE("names with a meaning in YAML are quoted") {
  for (const char* name : {"null", "~", "yes", "1", "- a", "a: b", "#", "NULL"}) {
    JobFile job;
    job.model = name;
    job.machine = "abci";
    CHECK(parse_job(print_job(job), "job.yaml").job.model == name);
  }
}

TEST_CASE("the batch of each GPU is multiplied by the devices of the plan") {
  const auto read = [](const std::string& text) { return parse_job("format: 1\nmodel: m\nmachine: m\n" + text, "j").job; };
  CHECK(read("batch_per_gpu: 8\nplan: {degrees: {data: 4, spatial: 2x2}}").plan.global_batch == 8 * 16);
  CHECK(read("batch_per_gpu: 8\nplan: {strategy: data, gpus: 4}").plan.global_batch == 8 * 4);
  CHECK(read("batch_per_gpu: 8\nplan: {strategy: serial}").plan.global_batch == 8);
}

TEST_CASE("a degree inside a degree is refused") {
  CHECK(error_of([] {
          static_cast<void>(parse_job(head + "plan: {degrees: {data: \"2,pipeline=3\"}}", "job.yaml"));
        }).starts_with("job.yaml:5:24: '2,pipeline=3' is not a degree"));
}

TEST_CASE("paths of a job are relative to its folder") {
  JobFile job;
  job.model = "nets/mine.yaml";
  job.machine = "dgx-a100";
  job.profiles = {"p.csv", "/abs/p.csv"};
  const StudySpec spec = spec_of(job, "ci/jobs");
  CHECK(spec.model == "ci/jobs/nets/mine.yaml");
  CHECK(spec.machine == "dgx-a100");
  CHECK(spec.profiles.files == std::vector<std::string>{"ci/jobs/p.csv", "/abs/p.csv"});
  job.profiles = {"none"};
  CHECK(spec_of(job, "ci/jobs").profiles.files == std::vector<std::string>{"none"});
}

TEST_CASE("a margin is a size or a share") {
  UnitProblem problem;
  CHECK(parse_margin("2 GiB", problem)->of(Bytes(100)) == Bytes(2.0 * 1024 * 1024 * 1024));
  CHECK(parse_margin("5%", problem)->of(Bytes(200)) == Bytes(10));
  for (const char* wrong : {"100 %", "-1 %", "nan %", "%", "5", "-1 GiB", "5 %%", ""}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_margin(wrong, problem));
  }
}

}  // namespace job_file_tests
