#include "estimator/explain/findings.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;
using Kind = Finding::Kind;

/// A model of three convolutions of 8 channels over 16 × 16. Each takes `pass` in forward, twice as
/// long in backward, and `update` for the update.
struct Convolutions : OwnedJob {
  Convolutions(Seconds pass, Seconds update)
      : OwnedJob(parse_model(R"(format: 1
model: convolutions
input: {channels: 8, size: 16x16}
layers:
  - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
  - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
  - convolution: {filters: 8, kernel: 3, padding: same, bias: no}
)",
                             "convolutions.yaml"),
                 nodes_of_four(), Assumptions{}, 1000, std::vector<LayerTimes>(3, {pass, 2.0 * pass, update})) {
    plan.global_batch = 32;
  }
  [[nodiscard]] Estimate estimate() const { return Estimator(job).estimate(plan); }
  Plan plan;
};

const Finding* find(const std::vector<Finding>& findings, Kind kind) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.kind == kind; });
  return found == findings.end() ? nullptr : &*found;
}

template <class Facts>
Facts facts_of(const Finding& finding) {
  REQUIRE(std::holds_alternative<Facts>(finding.facts));
  return std::get<Facts>(finding.facts);
}

/// A kind of finding that refers to a part of the time, and this part.
struct TimeKind {
  Kind kind;
  std::function<Seconds(const Breakdown&)> part;
};
std::vector<TimeKind> time_kinds() {
  return {{Kind::compute, [](const Breakdown& t) { return t[Part::forward] + t[Part::backward]; }},
          {Kind::gradient_exchange, [](const Breakdown& t) { return t[Part::gradient_exchange]; }},
          {Kind::layer_collectives, [](const Breakdown& t) { return t[Part::layer_collectives]; }},
          {Kind::halo, [](const Breakdown& t) { return t[Part::halo]; }},
          {Kind::pipeline, [](const Breakdown& t) { return t[Part::pipeline]; }},
          {Kind::bubble, [](const Breakdown& t) { return t[Part::bubble]; }},
          {Kind::weight_update, [](const Breakdown& t) { return t[Part::weight_update]; }},
          {Kind::input, [](const Breakdown& t) { return t[Part::input]; }},
          {Kind::waiting, [](const Breakdown& t) { return t[Part::waiting]; }}};
}

/// Checks that the plan is limited by `bound`, and that each part of its time is either reported
/// with its share or too small.
void check_bound_by(const Convolutions& job, Kind bound) {
  const Estimate estimate = job.estimate();
  INFO("expected to be bound by " << to_string(bound));
  REQUIRE(estimate.feasible());
  const std::vector<Finding> findings = findings_of(job.job, estimate);
  REQUIRE_FALSE(findings.empty());
  CHECK(findings.front().kind == bound);
  CHECK(findings.front().bounds);
  for (const TimeKind& about : time_kinds()) {
    INFO(to_string(about.kind));
    const double share = about.part(estimate.time) / estimate.time.step_time();
    const Finding* found = find(findings, about.kind);
    CHECK((found != nullptr) == (share >= 0.05));
    if (found == nullptr) continue;
    CHECK(found->share == Approx(share));
    if (found != findings.data()) CHECK_FALSE(found->bounds);
  }
}

TEST_CASE("a device that works alone is bound by computing") {
  check_bound_by(Convolutions(Seconds(1), Seconds(0)), Kind::compute);
}

TEST_CASE("replicas on a slow network are bound by gradients") {
  Convolutions job(Seconds(1e-3), Seconds(0));
  job.plan.mesh.set(Axis::data, 16);
  check_bound_by(job, Kind::gradient_exchange);
  const auto gradients = facts_of<Finding::Gradients>(findings_of(job.job, job.estimate()).front());
  CHECK(gradients.ranks == 16);
  CHECK(gradients.zero_stage == 0);
  CHECK(gradients.algorithm == to_string(AllreduceAlgorithm::hierarchical));
}

TEST_CASE("slices of filters are bound by gathering and summing activations") {
  Convolutions job(Seconds(1e-3), Seconds(0));
  job.plan.mesh.set(Axis::filter, 4);
  check_bound_by(job, Kind::layer_collectives);
}

TEST_CASE("tiles are bound by their halos") {
  Convolutions job(Seconds(1e-3), Seconds(0));
  job.plan.mesh.set_tiles({4, 1, 1});
  check_bound_by(job, Kind::halo);
}

TEST_CASE("stages that compute little are bound by their transfers") {
  Convolutions job(Seconds(1e-3), Seconds(0));
  job.plan.mesh.set(Axis::pipeline, 3);
  job.plan.micro_batches = 8;
  check_bound_by(job, Kind::pipeline);
}

TEST_CASE("stages without micro-batches are bound by waiting") {
  Convolutions job(Seconds(100), Seconds(0));
  job.plan.mesh.set(Axis::pipeline, 3);
  check_bound_by(job, Kind::bubble);
  // Two of three stages wait for 2/3 of the time, without the messages.
  const std::vector<Finding> findings = findings_of(job.job, job.estimate());
  CHECK(findings.front().share == Approx(2.0 / 3).epsilon(0.05));
  const auto pipeline = facts_of<Finding::Pipeline>(findings.front());
  CHECK(pipeline.stages == 3);
  CHECK(pipeline.micro_batches == 1);
}

TEST_CASE("many weights and few samples are bound by their update") {
  check_bound_by(Convolutions(Seconds(1e-3), Seconds(5)), Kind::weight_update);
}

TEST_CASE("a plan with samples from a slow disk is bound by input") {
  Convolutions job(Seconds(1e-3), Seconds(0));
  job.job.sample_bytes = Bytes(1000);
  job.machine.storage.shared_per_node = Bandwidth(100);
  check_bound_by(job, Kind::input);
}

/// Returns an estimate of 10 s: 4 s of compute, and 6 s of `part`.
Estimate ten_seconds(Part part) {
  Estimate estimate;
  estimate.time[Part::forward] = Seconds(1);
  estimate.time[Part::backward] = Seconds(3);
  estimate.time[part] += Seconds(6);
  return estimate;
}

TEST_CASE("findings are sorted by their share of the time, and findings below a twentieth are left out") {
  const Convolutions job(Seconds(1), Seconds(0));
  Estimate estimate = ten_seconds(Part::halo);
  std::vector<Finding> findings = findings_of(job.job, estimate);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].kind == Kind::halo);
  CHECK(findings[0].share == Approx(0.6));
  CHECK(findings[0].bounds);
  CHECK(findings[1].kind == Kind::compute);
  CHECK(findings[1].share == Approx(0.4));
  CHECK_FALSE(findings[1].bounds);
  // A part of 1 s in 20 s is reported, and a part of 0.9 s in 20 s is not.
  estimate.time[Part::halo] = Seconds(15);
  estimate.time[Part::bubble] = Seconds(1);
  CHECK(find(findings_of(job.job, estimate), Kind::bubble) != nullptr);
  estimate.time[Part::halo] = Seconds(15.1);
  estimate.time[Part::bubble] = Seconds(0.9);
  CHECK(find(findings_of(job.job, estimate), Kind::bubble) == nullptr);
}

TEST_CASE("nothing is found in a plan without a time") {
  const Convolutions job(Seconds(1), Seconds(0));
  CHECK(findings_of(job.job, Estimate{}).empty());
}

TEST_CASE("a finding names the ZeRO stage of exchanged gradients") {
  const Convolutions job(Seconds(1), Seconds(0));
  Estimate estimate = ten_seconds(Part::gradient_exchange);
  estimate.plan.mesh.set(Axis::data, 4);
  estimate.plan.mesh.set_tiles({2, 1, 1});
  estimate.plan.zero_stage = 2;
  const auto gradients = facts_of<Finding::Gradients>(findings_of(job.job, estimate)[0]);
  CHECK(gradients.ranks == 8);
  CHECK(gradients.zero_stage == 2);
}

TEST_CASE("replicated work is found") {
  Convolutions job(Seconds(1), Seconds(0));
  Estimate estimate = ten_seconds(Part::halo);
  estimate.replicated_share = 0.25;
  estimate.plan.mesh.set(Axis::filter, 2);
  const std::vector<Finding> findings = findings_of(job.job, estimate);
  const Finding* found = find(findings, Kind::replicated_work);
  REQUIRE(found != nullptr);
  CHECK(found->share == 0.25);
  CHECK(std::holds_alternative<std::monostate>(found->facts));
  estimate.replicated_share = 0.04;
  CHECK(find(findings_of(job.job, estimate), Kind::replicated_work) == nullptr);
}

TEST_CASE("stages of different length are found") {
  Convolutions job(Seconds(1), Seconds(0));
  job.plan.mesh.set(Axis::pipeline, 2);
  // Two of three equal layers are in one stage, which takes a third longer than the mean of one and a half layers.
  const std::vector<Finding> findings = findings_of(job.job, job.estimate());
  const Finding* found = find(findings, Kind::load_imbalance);
  REQUIRE(found != nullptr);
  CHECK(found->share == Approx(1.0 / 3));
  job.plan.mesh.set(Axis::pipeline, 3);
  CHECK(find(findings_of(job.job, job.estimate()), Kind::load_imbalance) == nullptr);
}

TEST_CASE("replicated memory is a finding if it is at least a quarter, and not sharded") {
  const Convolutions job(Seconds(1), Seconds(0));
  Estimate estimate = ten_seconds(Part::halo);
  estimate.plan.mesh.set(Axis::data, 4);
  estimate.plan.global_batch = 8;
  estimate.memory = {Bytes(10), Bytes(10), Bytes(10), Bytes(70)};
  const auto found = [&] { return find(findings_of(job.job, estimate), Kind::memory_redundancy) != nullptr; };
  const std::vector<Finding> findings = findings_of(job.job, estimate);
  REQUIRE(found());
  CHECK(find(findings, Kind::memory_redundancy)->share == Approx(0.3));
  CHECK(facts_of<Finding::Copies>(*find(findings, Kind::memory_redundancy)).ranks == 4);
  estimate.memory.activations = Bytes(100);  // 30 of 130 bytes
  CHECK_FALSE(found());
  estimate.memory.activations = Bytes(70);
  estimate.plan.zero_stage = 1;
  CHECK_FALSE(found());
  estimate.plan.zero_stage = 0;
  estimate.plan.mesh.set(Axis::data, 1);
  CHECK_FALSE(found());
  estimate.plan.mesh.set_tiles({2, 1, 1});
  CHECK(found());
}

TEST_CASE("replicas of a single sample are a limit of data parallelism") {
  Convolutions job(Seconds(1), Seconds(0));
  const auto found = [&] { return find(findings_of(job.job, job.estimate()), Kind::scaling_limit) != nullptr; };
  job.plan.mesh.set(Axis::data, 16);
  CHECK_FALSE(found());
  job.plan.mesh.set(Axis::data, 32);
  CHECK(found());
  job.plan.mesh.set(Axis::data, 16);
  job.plan.micro_batches = 2;
  CHECK_FALSE(found());
  // On a single device, a single sample has no replicas.
  job.plan = Plan{};
  CHECK_FALSE(found());
}

TEST_CASE("a data set larger than a node's storage is a finding") {
  Convolutions job(Seconds(1), Seconds(0));
  job.machine.storage.local_capacity = Bytes(1024);
  job.job.dataset_bytes = Bytes(1024);
  CHECK(find(findings_of(job.job, job.estimate()), Kind::local_storage) == nullptr);
  job.job.dataset_bytes = Bytes(4096);
  const std::vector<Finding> findings = findings_of(job.job, job.estimate());
  const Finding* found = find(findings, Kind::local_storage);
  REQUIRE(found != nullptr);
  CHECK(found->share == 4);
  const auto data = facts_of<Finding::DataSet>(*found);
  CHECK(data.size == Bytes(4096));
  CHECK(data.storage == Bytes(1024));
  CHECK_FALSE(data.shared_known);
}

TEST_CASE("kinds of findings have different names") {
  std::set<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(Kind::local_storage); ++kind)
    names.emplace(to_string(static_cast<Kind>(kind)));
  CHECK(names.size() == 14);
  CHECK(to_string(Kind::compute) == "compute");
  CHECK(to_string(Kind::input) == "input");
  CHECK(to_string(Kind::waiting) == "waiting");
  CHECK(to_string(Kind::local_storage) == "local storage");
}

}  // namespace
