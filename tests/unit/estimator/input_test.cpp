#include "estimator/step/input.hpp"

#include <optional>
#include <vector>

#include "estimator/explain/staging.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// A job with samples of 10 bytes on disk and 25 elements in memory, and one layer of 1 s in forward
/// and 2 s in backward per sample.
struct Reading : OwnedJob {
  explicit Reading(const Assumptions& some_assumptions = {})
      : OwnedJob(parse_model("format: 1\nmodel: m\ninput: {features: 25}\nlayers:\n  - fully_connected: 8\n", "m.yaml"),
                 nodes_of_four(), some_assumptions, 1000, std::vector<LayerTimes>{{Seconds(1), Seconds(2), Seconds(0)}}) {
    job.sample_bytes = Bytes(10);
    job.dataset_bytes = Bytes(900);
    plan.global_batch = 32;
  }
  [[nodiscard]] Storage& storage() { return machine.storage; }
  [[nodiscard]] double time() const {
    return input_time(job, plan, ExchangeTimes(plan, machine, coefficients, assumptions)).time().value();
  }
  Plan plan;
};

Assumptions with_leader() {
  Assumptions assumptions;
  assumptions.input_mode = InputMode::leader;
  return assumptions;
}

TEST_CASE("the ranks of a node share its bandwidth, and all nodes share the bandwidth of the file system") {
  Reading reading;
  reading.plan.mesh.set(Axis::data, 8);
  // Each of the two nodes reads half of 32 · 10 B at 20 B/s, which takes 160 / 20 s.
  reading.storage().shared_per_node = Bandwidth(20);
  CHECK(reading.time() == Approx(8.0));
  // The total of 320 / 80 is shorter than a node's time, and 320 / 32 is longer.
  reading.storage().shared_total = Bandwidth(80);
  CHECK(reading.time() == Approx(8.0));
  reading.storage().shared_total = Bandwidth(32);
  CHECK(reading.time() == Approx(10.0));
  // If the ranks fill only a part of a node, one node reads.
  reading.plan.mesh.set(Axis::data, 2);
  reading.storage().shared_total.reset();
  CHECK(reading.time() == Approx(16.0));
}

TEST_CASE("a node reads at most at the rate of its links into the network") {
  Reading reading;
  reading.plan.mesh.set(Axis::data, 4);
  reading.storage().shared_total = Bandwidth(1e6);
  // One node has two links of 100 B/s, which is less than the file system's rate: 320 / 200 s.
  CHECK(reading.time() == Approx(1.6));
  // A rate that the datasheet gives for a node replaces that of the links.
  reading.storage().shared_per_node = Bandwidth(400);
  CHECK(reading.time() == Approx(0.8));
  // Without a network, the rate of a node is unknown.
  reading.storage().shared_per_node.reset();
  reading.machine.levels.pop_back();
  CHECK_FALSE(shared_rate_of_node(reading.machine).has_value());
}

TEST_CASE("each rank that splits a sample reads the whole sample") {
  Reading reading;
  reading.storage().shared_per_node = Bandwidth(20);
  reading.plan.mesh.set(Axis::data, 2);
  reading.plan.mesh.set(Axis::filter, 4);
  // Two nodes read 4 · 320 B at 20 B/s each, which takes 640 / 20 s.
  CHECK(reading.time() == Approx(32.0));
  reading.storage().shared_total = Bandwidth(10);
  CHECK(reading.time() == Approx(128.0));
}

TEST_CASE("if samples are stored item by item, a rank reads its tile only") {
  Reading reading;
  reading.storage().shared_per_node = Bandwidth(20);
  reading.plan.mesh.set(Axis::data, 2);
  reading.plan.mesh.set_tiles({2, 1, 1});
  reading.plan.mesh.set(Axis::filter, 2);
  // Each of two nodes has 16 samples of 10 bytes, which four ranks read: 640 / 20.
  CHECK(reading.time() == Approx(32.0));
  reading.job.stored_raw = true;
  CHECK(reading.time() == Approx(16.0));
}

TEST_CASE("the hosts decode encoded images on the cores of their ranks, or on as many as there are workers") {
  Assumptions assumptions;
  assumptions.decodes_images = true;
  Reading reading(assumptions);
  Software& software = reading.coefficients.software;
  reading.plan.mesh.set(Axis::data, 8);
  reading.machine.host = HostPath{.cores_per_device = 2};
  software.image_loader = ImageLoader::pillow;
  // Samples that are not encoded need no time.
  CHECK(reading.time() == 0.0);
  // Pillow decodes 84 million pixels in a second. A node has 16 images and eight cores. With a process on each of them, a
  // core decodes 0.32 images in a second: 16 / (8 * 0.32) s. Transforming 25 elements takes less than a microsecond.
  reading.job.image_pixels = 84e6;
  CHECK(reading.time() == Approx(6.25));
  reading.machine.device.host_speed = 2;
  CHECK(reading.time() == Approx(3.125));
  reading.machine.device.host_speed = 1;
  // One worker for each of four ranks: half a process on each core, which decodes 0.5 / (1 + 2.125 * 0.5) images in a
  // second.
  software.loader_workers = 1;
  CHECK(reading.time() == Approx(16 / (8 * 0.5 / 2.0625)));
  // More workers than cores decode as many images as one worker for each core.
  software.loader_workers = 100;
  CHECK(reading.time() == Approx(6.25));
  // A job on a part of a node has its share of the workers: two ranks decode 32 images with four processes.
  software.loader_workers.reset();
  reading.plan.mesh.set(Axis::data, 2);
  CHECK(reading.time() == Approx(32 / (8 * 0.5 / 2.0625)));
  // Loaders read files while they decode. The files take 320 / 10 s, or 320 / 80 s.
  reading.storage().shared_per_node = Bandwidth(10);
  CHECK(reading.time() == Approx(32.0));
  reading.storage().shared_per_node = Bandwidth(80);
  CHECK(reading.time() == Approx(16.5));
  // OpenCV decodes 664 / 537 times as fast, in four threads. A device decodes in no time of the host.
  software.image_loader = ImageLoader::opencv;
  CHECK(decoding_time(reading.job, reading.plan).value() == Approx(32.0 / 4 * 537 / 664));
  software.image_loader = ImageLoader::device;
  CHECK(reading.time() == Approx(4.0));
}

TEST_CASE("a policy of augmentation takes its time in each process, or in one thread of a rank at a time") {
  Assumptions decodes;
  decodes.decodes_images = true;
  Reading reading(decodes);
  Software& software = reading.coefficients.software;
  reading.plan.mesh.set(Axis::data, 8);
  reading.machine.host = HostPath{.cores_per_device = 2};
  reading.job.image_pixels = 1;
  // 16 images of 25 elements on a node with four ranks. Each element takes 0.454 s / 256 * 0.72 / (3 * 224 * 224).
  constexpr double policy = 25 * 0.454 / 256 * 0.72 / (3 * 224 * 224), other = 25 * 1997e-6 / (3 * 224 * 224) + 1 / 84e6;
  software.image_loader = ImageLoader::opencv;
  software.augmentation = Augmentation::randaugment;
  CHECK(decoding_time(reading.job, reading.plan).value() == Approx(16 * policy / 4));
  software.image_loader = ImageLoader::pillow;
  CHECK(decoding_time(reading.job, reading.plan).value() == Approx(16 * (policy + other) / (8 * 0.32)));
  software.augmentation = Augmentation::none;
  CHECK(decoding_time(reading.job, reading.plan).value() == Approx(16 * other / (8 * 0.32)));
}

TEST_CASE("without prefetching, files are read before images are decoded") {
  Assumptions exposed;
  exposed.input_overlapped = false;
  exposed.decodes_images = true;
  Reading reading(exposed);
  reading.coefficients.software.image_loader = ImageLoader::pillow;
  reading.machine.host = HostPath{.cores_per_device = 2};
  reading.job.image_pixels = 84e6;
  reading.storage().shared_per_node = Bandwidth(20);
  // A quarter of a process on each of eight cores decodes 32 images, and files take 320 / 20 s.
  CHECK(reading.time() == Approx(32 / (8 * 0.25 / (1 + 2.125 * 0.25)) + 16));
}

TEST_CASE("a data set of up to half of a node's memory is read once") {
  Reading reading;
  reading.storage().shared_per_node = Bandwidth(20);
  CHECK(reading.time() == Approx(16.0));
  reading.storage().host_memory = Bytes(1799);
  CHECK(reading.time() == Approx(16.0));
  reading.storage().host_memory = Bytes(1800);
  CHECK(reading.time() == 0.0);
}

TEST_CASE("a leader may read the samples once and send them to the other ranks") {
  Reading reading(with_leader());
  reading.storage().shared_per_node = Bandwidth(20);
  reading.plan.mesh.set(Axis::data, 2);
  reading.plan.mesh.set(Axis::filter, 4);
  // The leader reads for 160 / 20, and then sends 16 samples of 25 elements of 4 B to three other
  // ranks of the node: a chain takes 3 · 1 + 1600 · 0.001, a tree two rounds of (1 + 1600 · 0.001).
  CHECK(reading.time() == Approx(8.0 + 4.6));
  reading.plan.precision = Precision::fp16;
  CHECK(reading.time() == Approx(8.0 + 2 * (1 + 0.8)));
  // The leader sends a tile, which is a quarter, to each of three other ranks: 3 · (1 + 400 · 0.001) s.
  reading.plan.mesh.set(Axis::filter, 1);
  reading.plan.mesh.set_tiles({4, 1, 1});
  reading.plan.precision = Precision::fp32;
  CHECK(reading.time() == Approx(8.0 + 4.2));
  reading.plan.mesh.set_tiles({1, 1, 1});
  // Each replica is its own leader.
  reading.plan.mesh.set(Axis::filter, 1);
  reading.plan.mesh.set(Axis::data, 8);
  CHECK(reading.time() == Approx(8.0));
}

TEST_CASE("a leader sends all tensors of the sample to the other ranks") {
  Reading one(with_leader());
  Reading two(with_leader());
  // Each of the two tensors has half of the elements of the sample.
  two.model = parse_model(
      "format: 1\nmodel: m\ninput: {features: 12}\nlayers:\n  - input: {features: 13}\n  - fully_connected: 8\n", "m.yaml");
  two.facts = facts_of(two.model);
  for (Reading* reading : {&one, &two}) {
    reading->plan.mesh.set(Axis::data, 2);
    reading->plan.mesh.set(Axis::filter, 4);
  }
  CHECK(one.time() > 0);
  CHECK(two.time() == one.time());
}

TEST_CASE("only the first stage of a pipeline reads") {
  Reading reading;
  reading.storage().shared_per_node = Bandwidth(20);
  reading.plan.mesh.set(Axis::data, 8);
  reading.plan.mesh.set(Axis::pipeline, 4);
  // The eight ranks of the stage fill two nodes, which read for 160 / 20 s.
  CHECK(reading.time() == Approx(8.0));
  // The two ranks are in one node, which reads for 320 / 20 s.
  reading.plan.mesh.set(Axis::data, 2);
  CHECK(reading.time() == Approx(16.0));
}

TEST_CASE("the local disk is read if it can hold the data set") {
  Reading reading;
  reading.plan.mesh.set(Axis::data, 8);
  reading.storage().shared_per_node = Bandwidth(20);
  reading.storage().local_bandwidth = Bandwidth(40);
  reading.storage().local_capacity = Bytes(900);
  CHECK(fits_local_storage(reading.job));
  CHECK(reading.time() == Approx(4.0));
  // Each node reads its own disk, so nodes do not slow each other down.
  reading.storage().shared_total = Bandwidth(1);
  CHECK(reading.time() == Approx(4.0));
  reading.storage().shared_total.reset();
  reading.job.dataset_bytes = Bytes(901);
  CHECK_FALSE(fits_local_storage(reading.job));
  CHECK(reading.time() == Approx(8.0));
}

TEST_CASE("files of the shared file system are opened at its rate") {
  Reading reading;
  reading.plan.mesh.set(Axis::data, 8);
  reading.storage().shared_total = Bandwidth(320);
  reading.storage().shared_files = 16;
  // A step reads 32 files, at 16 files/s.
  CHECK(reading.time() == Approx(2.0));
  // If a file has 8 samples, the bytes take longer: 320 B at 320 B/s.
  reading.job.files_per_sample = 0.125;
  CHECK(reading.time() == Approx(1.0));
}

TEST_CASE("nodes with staged shards have the samples of their ranks, and ranks exchange a share of them") {
  Assumptions assumptions;
  assumptions.staging = Staging::shards;
  assumptions.exchanged_samples = 0.5;
  Reading reading(assumptions);
  reading.plan.mesh.set(Axis::data, 8);
  reading.storage().local_bandwidth = Bandwidth(40);
  reading.storage().local_capacity = Bytes(700);
  reading.storage().shared_total = Bandwidth(30);
  // (1 + Q)·N/M samples for each of M ranks [Nguyen et al., IPDPS 2022]: half of 1.5 · 900 B on each of two nodes.
  CHECK(bytes_on_node(reading.job, reading.plan).value() == Approx(675.0));
  CHECK(sample_place(reading.job, reading.plan) == SamplePlace::local_disk);
  // A node reads 160 B and writes 80 B at 40 B/s. A rank sends 2 of its 4 samples, with an α of 2 s each.
  const ExchangeTimes exchanges(reading.plan, reading.machine, reading.coefficients, reading.assumptions);
  const auto of = [&](auto function) {
    return (exchanges.*function)(Collective::all_to_all, Bytes(20), family_bit(Axis::data), Purpose::halo).value();
  };
  const double bytes = of(&ExchangeTimes::time) - of(&ExchangeTimes::startup);
  CHECK(bytes > 0);
  CHECK(reading.time() == Approx(6.0 + 2 * 2.0 + bytes));
  // 900 B are copied at 30 B/s.
  std::optional<StagedData> staged = staged_data(reading.job, reading.plan);
  REQUIRE(staged);
  CHECK(staged->fits);
  CHECK(staged->per_node.value() == Approx(675.0));
  CHECK(staged->time.value().value() == Approx(30.0));
  // 90 samples are files, of which 2 are opened in a second.
  reading.storage().shared_files = 2;
  CHECK(staged_data(reading.job, reading.plan)->time.value().value() == Approx(45.0));
  // A smaller disk cannot hold the shards, which are read from the shared file system: 320 B at 30 B/s, or 32 files.
  reading.storage().local_capacity = Bytes(600);
  staged = staged_data(reading.job, reading.plan);
  CHECK_FALSE(staged->fits);
  CHECK_FALSE(staged->time);
  CHECK(reading.time() == Approx(16.0));
}

TEST_CASE("each node copies all samples if the whole data set is staged") {
  Assumptions assumptions;
  assumptions.staging = Staging::whole;
  Reading reading(assumptions);
  reading.plan.mesh.set(Axis::data, 8);
  reading.storage().local_bandwidth = Bandwidth(40);
  // The bandwidth of the shared file system is unknown.
  CHECK_FALSE(staged_data(reading.job, reading.plan)->time);
  reading.storage().shared_per_node = Bandwidth(100);
  // The disk writes 900 B at 40 B/s.
  CHECK(staged_data(reading.job, reading.plan)->time.value().value() == Approx(22.5));
  // Two nodes copy 900 B each at 20 B/s together.
  reading.storage().shared_total = Bandwidth(20);
  CHECK(staged_data(reading.job, reading.plan)->time.value().value() == Approx(90.0));
  CHECK(reading.time() == Approx(4.0));
}

TEST_CASE("reading counts as zero if no bandwidth is known") {
  Reading reading;
  CHECK(reads_in_no_time(reading.job, reading.plan));
  reading.storage().shared_total = Bandwidth(20);
  CHECK_FALSE(reads_in_no_time(reading.job, reading.plan));
  reading.storage().shared_total.reset();
  reading.storage().local_bandwidth = Bandwidth(20);
  CHECK_FALSE(reads_in_no_time(reading.job, reading.plan));
  reading.storage().local_capacity = Bytes(800);
  CHECK(reads_in_no_time(reading.job, reading.plan));
  reading.storage().host_memory = Bytes(1800);
  CHECK_FALSE(reads_in_no_time(reading.job, reading.plan));
}

TEST_CASE("input with unknown bandwidth takes no time") {
  Reading reading;
  CHECK(reading.time() == 0);
  CHECK(fits_local_storage(reading.job));
  reading.storage().shared_per_node = Bandwidth(20);
  CHECK(reading.time() == Approx(16.0));
  reading.job.sample_bytes = Bytes(0);
  CHECK(reading.time() == 0);
}

TEST_CASE("reading with prefetching adds time only if it takes longer than the rest of the step") {
  Reading reading;
  reading.storage().shared_per_node = Bandwidth(20);
  // 32 samples compute for 96 s, and reading takes 16 s.
  Estimate estimate = Estimator(reading.job).estimate(reading.plan);
  CHECK(estimate.time[Part::input].value() == 0);
  CHECK(estimate.hidden_input.value() == Approx(16.0));
  CHECK(estimate.time.step_time().value() == Approx(96.0));
  // 96 of 160 s of reading are hidden.
  reading.job.sample_bytes = Bytes(100);
  estimate = Estimator(reading.job).estimate(reading.plan);
  CHECK(estimate.time[Part::input].value() == Approx(64.0));
  CHECK(estimate.hidden_input.value() == Approx(96.0));
  CHECK(estimate.time.step_time().value() == Approx(160.0));
}

TEST_CASE("reading without prefetching is completely exposed, and excluded reading takes no time") {
  Assumptions one_after_the_other;
  one_after_the_other.input_overlapped = false;
  Reading exposed(one_after_the_other);
  exposed.storage().shared_per_node = Bandwidth(20);
  const Estimate estimate = Estimator(exposed.job).estimate(exposed.plan);
  CHECK(estimate.time[Part::input].value() == Approx(16.0));
  CHECK(estimate.hidden_input.value() == 0);
  CHECK(estimate.time.step_time().value() == Approx(112.0));

  Assumptions without;
  without.include_input = false;
  Reading none(without);
  none.storage().shared_per_node = Bandwidth(1e-3);
  CHECK(Estimator(none.job).estimate(none.plan).time.step_time().value() == Approx(96.0));
}

}  // namespace
