#include "estimator/plan/limit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/step/estimate.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

/// Returns a model with F = 16, 6, 20, 10 and C = 3, 16, 6, 20. The limits ignore the last F and the first C.
Model images() {
  return parse_model(R"(format: 1
model: images
input: {channels: 3, size: 32x40}
layers:
  - convolution: {filters: 16, kernel: 11, padding: same}
    name: wide
  - activation: relu
  - convolution: {filters: 6, kernel: 3, padding: same}
    name: narrow
  - norm: batch
  - convolution: {filters: 20, kernel: 3, padding: same}
    name: reader
  - pool: {kind: average, global: yes}
  - flatten
  - fully_connected: 10
    name: classes
  - loss: cross_entropy
)",
                     "images.yaml");
}

using Kind = Limit::Kind;

/// A violated limit of a plan: the required number, the available number, and the name of the
/// layer; empty if no layer sets the limit.
struct Broken {
  Kind kind = Kind::memory;
  double wanted = 0, available = 0;
  std::string layer{};
  friend auto operator<=>(const Broken&, const Broken&) = default;
};
using Limited = std::vector<Broken>;

Limited limits_of(const OwnedJob& owned, const Plan& plan) {
  Limited limits;
  for (const Limit& limit : Estimator(owned.job).estimate(plan).limits) {
    limits.push_back({limit.kind, limit.wanted, limit.available,
                      limit.layer < 0 ? "" : owned.model.layers[static_cast<std::size_t>(limit.layer)].name});
  }
  return limits;
}

struct Images : OwnedJob {
  Images() : OwnedJob(images(), nodes_of_four(), Assumptions{}, 1000) { plan.global_batch = 16; }
  [[nodiscard]] Limited limits() const { return limits_of(*this, plan); }
  Plan plan;
};

TEST_CASE("each replica needs a sample") {
  Images images;
  images.plan.mesh.set(Axis::data, 16);
  CHECK(images.limits().empty());
  images.plan.global_batch = 15;
  CHECK(images.limits() == Limited{{Kind::batch, 16, 15}});
}

TEST_CASE("each micro-batch needs a sample") {
  Images images;
  images.plan.mesh.set(Axis::data, 4);
  images.plan.micro_batches = 4;
  CHECK(images.limits().empty());
  images.plan.micro_batches = 5;
  CHECK(images.limits() == Limited{{Kind::schedule, 5, 4}});
}

TEST_CASE("an update in backward needs the whole batch on one stage, and projections whole matrices") {
  Assumptions early;
  early.updates_in_backward = true;
  const OwnedJob plain(small_transformer(2), nodes_of_four(), Assumptions{}, 1000),
      updated(small_transformer(2), nodes_of_four(), early, 1000);
  const auto refuses = [](const OwnedJob& owned, const Plan& plan) {
    const Limits limits = Estimator(owned.job).limits(plan);
    return std::any_of(limits.begin(), limits.end(), [](const Limit& each) { return each.kind == Kind::whole_gradients; });
  };
  Plan plan;
  plan.global_batch = 16;
  plan.mesh.set(Axis::data, 2);
  CHECK_FALSE(refuses(updated, plan));
  plan.optimizer = Optimizer::galore;
  CHECK(refuses(updated, plan));
  CHECK_FALSE(refuses(plain, plan));
  plan.zero_stage = 1;
  CHECK(refuses(plain, plan));
  plan.zero_stage = 0;
  for (const Axis axis : {Axis::pipeline, Axis::tensor}) {
    Plan split = plan;
    split.mesh.set(axis, 2);
    CHECK(refuses(plain, split));
    split.optimizer = Optimizer::adam;
    CHECK_FALSE(refuses(plain, split));
    CHECK(refuses(updated, split) == (axis == Axis::pipeline));
  }
  plan.optimizer = Optimizer::adam;
  plan.micro_batches = 4;
  CHECK(refuses(updated, plan));
  CHECK_FALSE(refuses(plain, plan));
}

TEST_CASE("the filter degree is at most the fewest filters of any layer but the last") {
  Images images;
  images.plan.mesh.set(Axis::filter, 6);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::filter, 7);
  CHECK(images.limits() == Limited{{Kind::filters, 7, 6, "narrow"}});
}

TEST_CASE("the channel degree is at most the fewest channels of any layer but the first") {
  Images images;
  images.plan.mesh.set(Axis::channel, 6);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::channel, 7);
  CHECK(images.limits() == Limited{{Kind::channels, 7, 6, "reader"}});
}

TEST_CASE("the tensor degree is at most the number of heads of a transformer") {
  const OwnedJob owned(small_transformer(2), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::tensor, 6);
  CHECK(limits_of(owned, plan).empty());
  plan.mesh.set(Axis::tensor, 7);
  CHECK(limits_of(owned, plan) == Limited{{Kind::tensor_units, 7, 6, "layer0.qkv"}});
}

TEST_CASE("a tile is at least as wide as the halo that its neighbors read") {
  Images images;
  // A kernel of 11 extends 5 rows beyond its own row. Six tiles of 32/6 rows are high enough, but seven tiles are not. Eight
  // tiles of 40/8 columns are wide enough, but nine are not.
  images.plan.mesh.set_tiles({6, 1, 1});
  CHECK(images.limits().empty());
  images.plan.mesh.set_tiles({7, 1, 1});
  CHECK(images.limits() == Limited{{Kind::halo, 5, 4, "wide"}});
  images.plan.mesh.set_tiles({1, 8, 1});
  CHECK(images.limits().empty());
  images.plan.mesh.set_tiles({1, 9, 1});
  CHECK(images.limits() == Limited{{Kind::halo, 5, 4, "wide"}});
}

TEST_CASE("a spatial degree cannot exceed the rows, columns and planes of a sample") {
  Images images;
  images.machine.levels[1].units = 100;
  images.plan.mesh.set_tiles({33, 1, 1});
  CHECK(images.limits() == Limited{{Kind::extent, 33, 32, "wide"}});
  images.plan.mesh.set_tiles({1, 41, 1});
  CHECK(images.limits() == Limited{{Kind::extent, 41, 40, "wide"}});
  // An image has no third extent.
  images.plan.mesh.set_tiles({1, 1, 2});
  CHECK(images.limits() == Limited{{Kind::extent, 2, 1, "wide"}});
}

TEST_CASE("tokens and features have no spatial splits") {
  const OwnedJob owned(small_transformer(2), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set_tiles({2, 1, 1});
  REQUIRE(limits_of(owned, plan).size() == 1);
  CHECK(limits_of(owned, plan).front().kind == Kind::no_extents);
}

TEST_CASE("each stage has a layer with weights") {
  Images images;
  // The layers are wide, narrow, reader and classes. A norm has no matrix of its own.
  images.plan.mesh.set(Axis::pipeline, 4);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::pipeline, 5);
  CHECK(images.limits() == Limited{{Kind::stages, 5, 4}});
}

TEST_CASE("a plan cannot have more devices than the machine") {
  Images images;
  images.plan.global_batch = 100;
  images.plan.mesh.set(Axis::data, 32);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::data, 33);
  CHECK(images.limits() == Limited{{Kind::devices, 33, 32}});
  images.plan.mesh.set(Axis::data, 11);
  images.plan.mesh.set(Axis::filter, 3);
  CHECK(images.limits() == Limited{{Kind::devices, 33, 32}});
}

TEST_CASE("a plan cannot need more memory than a device has") {
  Images images;
  const Bytes need = Estimator(images.job).estimate(images.plan).memory.total();
  images.machine.device.memory = need;
  CHECK(images.limits().empty());
  images.machine.device.memory = need * 0.999;
  const Estimate estimate = Estimator(images.job).estimate(images.plan);
  CHECK_FALSE(estimate.feasible());
  REQUIRE(estimate.limits.size() == 1);
  const Limit& limit = *estimate.limits.begin();
  CHECK(limit.kind == Kind::memory);
  CHECK(limit.wanted == need.value());
  CHECK(limit.available == images.machine.device.memory.value());
  // A plan that does not fit is still estimated, because it may be intended for a larger device.
  CHECK(estimate.time.step_time().value() > 0);
}

TEST_CASE("each limit that a plan breaks is named") {
  Images images;
  images.plan.mesh.set(Axis::data, 17);
  images.plan.mesh.set(Axis::filter, 7);
  images.plan.mesh.set(Axis::channel, 8);
  images.plan.mesh.set_tiles({33, 9, 1});
  images.plan.mesh.set(Axis::pipeline, 5);
  Limited limits = images.limits();
  std::sort(limits.begin(), limits.end());
  CHECK(limits == Limited{{Kind::batch, 17, 16},
                          {Kind::extent, 33, 32, "wide"},
                          {Kind::halo, 5, 4, "wide"},
                          {Kind::filters, 7, 6, "narrow"},
                          {Kind::channels, 8, 6, "reader"},
                          {Kind::stages, 5, 4},
                          {Kind::devices, 17 * 7 * 8 * 33 * 9 * 5, 32}});
}

TEST_CASE("a tensor split of a model without other matrices divides its tables and its last layer") {
  OwnedJob recurrent(parse_model("format: 1\nmodel: m\ninput: {tokens: 8}\nlayers:\n  - embedding: {vocabulary: 20, "
                                 "features: 24}\n    name: words\n  - lstm: 24\n  - fully_connected: 20\n"
                                 "  - loss: cross_entropy\n",
                                 "m.yaml"),
                     nodes_of_four(), Assumptions{}, 1000);
  // The table is split by its 20 rows, and the last layer by its filters.
  Plan plan{.mesh = {{Axis::tensor, 16}}, .global_batch = 16};
  CHECK(limits_of(recurrent, plan).empty());
  plan.mesh.set(Axis::tensor, 32);
  CHECK(limits_of(recurrent, plan) == Limited{{Kind::tensor_units, 32, 20, "words"}});
}

TEST_CASE("a plan whose shape breaks a limit is not predicted") {
  Images images;
  images.plan.mesh.set(Axis::data, 17);
  const Estimate estimate = Estimator(images.job).estimate(images.plan);
  CHECK_FALSE(estimate.feasible());
  CHECK(estimate.time.step_time().value() == 0);
}

TEST_CASE("a plan may be at all of its limits") {
  Images images;
  images.machine.levels[1].units = 1 << 20;
  images.plan.mesh.set(Axis::data, 16);
  images.plan.mesh.set(Axis::filter, 6);
  images.plan.mesh.set(Axis::channel, 6);
  images.plan.mesh.set_tiles({6, 8, 1});
  images.plan.mesh.set(Axis::pipeline, 4);
  CHECK(images.limits().empty());
  const Estimate estimate = Estimator(images.job).estimate(images.plan);
  CHECK(estimate.feasible());
  CHECK(estimate.time.step_time().value() > 0);
}

TEST_CASE("a machine has the product of the units of its levels as devices, one without levels") {
  CHECK(nodes_of_four().devices() == 32);
  CHECK(nodes_of_four().devices_per_node() == 4);
  CHECK(Machine{}.devices() == 1);
  CHECK(Machine{}.devices_per_node() == 1);
}

}  // namespace
