#include "estimator/search/limit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/step/estimate.hpp"
#include "estimator/strategies/strategy.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// F = 16, 6, 20, 10 and C = 3, 16, 6, 20, of which the last F and the first C do not count.
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

Model tokens() {
  return parse_model(R"(format: 1
model: tokens
family: gpt
parameters: {layers: 2, hidden: 24, heads: 6, vocabulary: 100, tokens: 8}
)",
                     "tokens.yaml");
}

/// What stands in the way of a plan, in words.
std::vector<std::string> limit_texts(const OwnedJob& owned, const Plan& plan) {
  std::vector<std::string> texts;
  for (const Limit& limit : Estimator(owned.job).estimate(plan).limits) texts.push_back(describe(limit, owned.model));
  return texts;
}

using Texts = std::vector<std::string>;

struct Images : OwnedJob {
  Images() : OwnedJob(images(), nodes_of_four(), Assumptions{}, 1000) { plan.global_batch = 16; }
  [[nodiscard]] Texts limits() const { return limit_texts(*this, plan); }
  Plan plan;
};

TEST_CASE("a replica needs a sample of its own") {
  Images images;
  images.plan.mesh.set(Axis::data, 16);
  CHECK(images.limits().empty());
  images.plan.global_batch = 15;
  CHECK(images.limits() == Texts{"needs 16 samples per iteration, the global batch has 15"});
}

TEST_CASE("a micro-batch needs a sample of its own") {
  Images images;
  images.plan.mesh.set(Axis::data, 4);
  images.plan.micro_batches = 4;
  CHECK(images.limits().empty());
  images.plan.micro_batches = 5;
  CHECK(images.limits() == Texts{"5 micro-batches, but a replica has only 4 samples"});
}

TEST_CASE("a filter split goes up to the fewest filters of any layer but the last") {
  Images images;
  images.plan.mesh.set(Axis::filter, 6);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::filter, 7);
  CHECK(images.limits() == Texts{"filter degree 7 is above min F = 6 (narrow)"});
}

TEST_CASE("a channel split goes up to the fewest channels of any layer but the first") {
  Images images;
  images.plan.mesh.set(Axis::channel, 6);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::channel, 7);
  CHECK(images.limits() == Texts{"channel degree 7 is above min C = 6 (reader)"});
}

TEST_CASE("a tensor split goes up to the heads of a transformer") {
  const OwnedJob owned(tokens(), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::tensor, 6);
  CHECK(limit_texts(owned, plan).empty());
  plan.mesh.set(Axis::tensor, 7);
  CHECK(limit_texts(owned, plan) == Texts{"tensor degree 7 is above the 6 parts its layers can be cut into (layer0.qkv)"});
}

TEST_CASE("a tile is as wide as the halo that its neighbours want of it") {
  Images images;
  // A kernel of 11 looks 5 rows beyond its own: 32/6 rows are enough, 32/7 are not; 40/8 columns are, 40/9 are not.
  images.plan.mesh.set_tiles({6, 1, 1});
  CHECK(images.limits().empty());
  images.plan.mesh.set_tiles({7, 1, 1});
  CHECK(images.limits() == Texts{"a halo of 5 is wider than the tile of 4 (wide)"});
  images.plan.mesh.set_tiles({1, 8, 1});
  CHECK(images.limits().empty());
  images.plan.mesh.set_tiles({1, 9, 1});
  CHECK(images.limits() == Texts{"a halo of 5 is wider than the tile of 4 (wide)"});
}

TEST_CASE("a sample is cut no finer than its rows, columns and planes") {
  Images images;
  images.machine.levels[1].units = 100;
  images.plan.mesh.set_tiles({33, 1, 1});
  CHECK(images.limits() == Texts{"spatial degree 33 is above the extent 32 of the first split layer (wide)"});
  images.plan.mesh.set_tiles({1, 41, 1});
  CHECK(images.limits() == Texts{"spatial degree 41 is above the extent 40 of the first split layer (wide)"});
  // An image has no third extent.
  images.plan.mesh.set_tiles({1, 1, 2});
  CHECK(images.limits() == Texts{"spatial degree 2 is above the extent 1 of the first split layer (wide)"});
}

TEST_CASE("tokens and features are not cut in space") {
  const OwnedJob owned(tokens(), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set_tiles({2, 1, 1});
  CHECK(limit_texts(owned, plan) == Texts{"tokens has no spatial extents to split"});
}

TEST_CASE("a stage has a layer with weights") {
  Images images;
  // wide, narrow, reader and classes; a norm has no matrix of its own.
  images.plan.mesh.set(Axis::pipeline, 4);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::pipeline, 5);
  CHECK(images.limits() == Texts{"5 stages, but only 4 layers with weights"});
}

TEST_CASE("a plan has no more devices than the machine") {
  Images images;
  images.plan.global_batch = 100;
  images.plan.mesh.set(Axis::data, 32);
  CHECK(images.limits().empty());
  images.plan.mesh.set(Axis::data, 33);
  CHECK(images.limits() == Texts{"33 devices, the machine has 32"});
  images.plan.mesh.set(Axis::data, 11);
  images.plan.mesh.set(Axis::filter, 3);
  CHECK(images.limits() == Texts{"33 devices, the machine has 32"});
}

TEST_CASE("a plan needs no more memory than a device has") {
  Images images;
  const Bytes need = Estimator(images.job).estimate(images.plan).memory.total();
  images.machine.device.memory = need;
  CHECK(images.limits().empty());
  images.machine.device.memory = need * 0.999;
  const Estimate estimate = Estimator(images.job).estimate(images.plan);
  CHECK_FALSE(estimate.feasible());
  REQUIRE(estimate.limits.size() == 1);
  const Limit& limit = *estimate.limits.begin();
  CHECK(limit.kind == Limit::Kind::memory);
  CHECK(limit.wanted == need.value());
  CHECK(limit.available == images.machine.device.memory.value());
  // What does not fit is priced all the same: it may be wanted on a larger device.
  CHECK(estimate.time.iteration().value() > 0);
  CHECK(describe({Limit::Kind::memory, 3.0 * 1073741824, 2.0 * 1073741824, -1}, images.model) ==
        "needs 3.00 GiB per device, which has 2.00 GiB: 1.00 GiB too much");
  CHECK(describe({Limit::Kind::memory, 3.0 * 1073741824, 2.0 * 1073741824, -1, "activations", 2.5 * 1073741824},
                 images.model) ==
        "needs 3.00 GiB per device, which has 2.00 GiB: 1.00 GiB too much; 2.50 GiB of it activations");
}

TEST_CASE("each limit that a plan breaks is named") {
  Images images;
  images.plan.mesh.set(Axis::data, 17);
  images.plan.mesh.set(Axis::filter, 7);
  images.plan.mesh.set(Axis::channel, 8);
  images.plan.mesh.set_tiles({33, 9, 1});
  images.plan.mesh.set(Axis::pipeline, 5);
  Texts texts = images.limits();
  std::sort(texts.begin(), texts.end());
  CHECK(texts == Texts{"1413720 devices, the machine has 32",  // 17 · 7 · 8 · 33 · 9 · 5
                       "5 stages, but only 4 layers with weights", "a halo of 5 is wider than the tile of 4 (wide)",
                       "channel degree 8 is above min C = 6 (reader)", "filter degree 7 is above min F = 6 (narrow)",
                       "needs 17 samples per iteration, the global batch has 16",
                       "spatial degree 33 is above the extent 32 of the first split layer (wide)"});
}

TEST_CASE("a tensor split of a model without other matrices is one of its tables and its last layer") {
  OwnedJob recurrent(parse_model("format: 1\nmodel: m\ninput: {tokens: 8}\nlayers:\n  - embedding: {vocabulary: 20, "
                                 "features: 24}\n    name: words\n  - lstm: 24\n  - fully_connected: 20\n"
                                 "  - loss: cross_entropy\n",
                                 "m.yaml"),
                     nodes_of_four(), Assumptions{}, 1000);
  // The table is cut between its 20 rows, the last layer between its filters.
  Plan plan{.mesh = {{Axis::tensor, 16}}, .global_batch = 16};
  CHECK(limit_texts(recurrent, plan).empty());
  plan.mesh.set(Axis::tensor, 32);
  CHECK(limit_texts(recurrent, plan) == Texts{"tensor degree 32 is above the 20 parts its layers can be cut into (words)"});
}

TEST_CASE("a plan that breaks a limit of its shape is not priced") {
  Images images;
  images.plan.mesh.set(Axis::data, 17);
  const Estimate estimate = Estimator(images.job).estimate(images.plan);
  CHECK_FALSE(estimate.feasible());
  CHECK(estimate.time.iteration().value() == 0);
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
  CHECK(estimate.time.iteration().value() > 0);
}

TEST_CASE("a machine has the devices of all its levels, one where it has none") {
  CHECK(nodes_of_four().devices() == 32);
  CHECK(nodes_of_four().devices_per_node() == 4);
  CHECK(Machine{}.devices() == 1);
  CHECK(Machine{}.devices_per_node() == 1);
}

}  // namespace
