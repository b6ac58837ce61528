// Tests plans with a layout for each segment of layers: equal layouts equal one layout, and the search for layouts finds
// what a search of all assignments finds.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "estimator/memory/memory_timeline.hpp"
#include "estimator/search/layer_search.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/table_search.hpp"
#include "estimator/search/unit_graph.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "tests/catch.hpp"
#include "tests/property/segment_cases.hpp"

namespace segments_tests {

namespace {

TEST_CASE("segments with the mesh of all other layers change neither time nor memory") {
  const std::vector<std::string> models{"alexnet", "vgg16", "resnet50",      "cosmoflow-128",
                                        "unet3d",  "gpt2",  "qwen3-30b-a3b", "dlrm"};
  const std::vector<Mesh> meshes{Mesh{{Axis::data, 16}},
                                 Mesh{{Axis::data, 4}, {Axis::filter, 4}},
                                 Mesh{{Axis::data, 8}, {Axis::tensor, 2}},
                                 Mesh{{Axis::data, 8}, {Axis::channel, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::spatial, 4}},
                                 Mesh{{Axis::data, 4}, {Axis::tensor, 2}, {Axis::pipeline, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::filter, 2}, {Axis::pipeline, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::pipeline, 4}},
                                 Mesh{{Axis::data, 2}, {Axis::expert, 4}, {Axis::tensor, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::context, 4}},
                                 Mesh{{Axis::data, 2}, {Axis::context, 2}, {Axis::tensor, 2}, {Axis::pipeline, 2}}};
  int compared = 0;
  for (const std::string& model : models) {
    const Training training(model, 8, true);
    const Estimator& estimator = training.estimator;
    const auto layers = static_cast<int>(training.owned.model.layers.size());
    for (const Mesh& mesh : meshes) {
      for (const int zero : {0, 1, 3}) {
        Plan plan = plan_on(mesh, 64);
        plan.zero_stage = zero;
        plan.micro_batches = mesh[Axis::pipeline] > 1 ? 4 : 1;
        plan.sequence_parallel = zero == 1 && mesh[Axis::tensor] > 1;
        const Estimate uniform = estimator.estimate(plan);
        plan.segments = {{layers / 3, mesh}, {layers / 2, mesh}};
        const Estimate segments = estimator.estimate(plan);
        INFO(fmt::format("{}, {}, ZeRO-{}", model, degrees_text(mesh), zero));
        CHECK(uniform.limits.empty() == segments.limits.empty());
        if (uniform.time.step_time().value() <= 0 || segments.time.step_time().value() <= 0) continue;
        ++compared;
        CHECK(segments.time.step_time().value() == Approx(uniform.time.step_time().value()).epsilon(1e-9));
        CHECK(segments.memory.total().value() == Approx(uniform.memory.total().value()).epsilon(1e-9));
        CHECK(segments.memory.upper_bound().value() == Approx(uniform.memory.upper_bound().value()).epsilon(1e-9));
      }
    }
  }
  CHECK(compared > 80);
}

TEST_CASE("a tensor between two layouts is exchanged as the difference of the layouts") {
  const Training training("alexnet", 4, false);
  const Estimator& estimator = training.estimator;
  const auto& layers = training.owned.model.layers;
  const std::vector<int>& matrices = training.owned.facts.matrix;
  const int first = matrices[5], second = matrices[6], last = matrices[7];  // the fully connected layers
  REQUIRE(layers[static_cast<std::size_t>(first)].operation->type() == "fully_connected");
  Plan plan = plan_on(Mesh{{Axis::data, 32}}, 1024);
  const auto lay_out = [&](Axis axis) {
    plan.segments = {{first, Mesh{{axis, 32}}}, {last, Mesh{{Axis::data, 32}}}};
    REQUIRE(estimator.limits(plan).empty());
  };
  // The first fully connected layer reads 256·6·6 = 9,216 elements of a sample, and the next layers 4,096.
  lay_out(Axis::filter);
  CHECK(exchanges_of(estimator, plan, first - 1).empty());
  CHECK(exchanges_of(estimator, plan, first) == Texts{"forward allgather of 4096 among filter",
                                                      "forward allgather of 9216 among filter",
                                                      "backward reduce-scatter of 9216 among filter"});
  CHECK(exchanges_of(estimator, plan, second) ==
        Texts{"forward allgather of 4096 among filter", "backward allreduce of 4096 among filter"});
  // Behind the last of them, each rank takes its samples, and gathers the gradient of all samples.
  CHECK(exchanges_of(estimator, plan, last - 1) == Texts{"backward allgather of 4096 among filter"});
  CHECK(exchanges_of(estimator, plan, last).empty());
  // A rank has the 32nd part of the samples, and needs the 32nd part of the channels of all samples.
  lay_out(Axis::channel);
  CHECK(exchanges_of(estimator, plan, first) == Texts{"forward allreduce of 4096 among channel",
                                                      "forward all-to-all of 288 among channel",
                                                      "backward all-to-all of 288 among channel"});
  // With a tensor split, it is the row layer of a pair whose column layer is data parallel, and has the exchanges of a
  // channel split.
  lay_out(Axis::tensor);
  CHECK(exchanges_of(estimator, plan, first) == Texts{"forward allreduce of 4096 among tensor",
                                                      "forward all-to-all of 288 among tensor",
                                                      "backward all-to-all of 288 among tensor"});
  // A data degree in both layouts: groups of 8 ranks exchange their samples.
  plan.segments = {{first, Mesh{{Axis::data, 4}, {Axis::filter, 8}}}};
  CHECK(exchanges_of(estimator, plan, first) == Texts{"forward allgather of 4096 among filter",
                                                      "forward allgather of 9216 among filter",
                                                      "backward reduce-scatter of 9216 among filter"});
}

TEST_CASE("ranks of the next stage lay out a tensor anew") {
  const Training training("gpt2", 8, false);
  const Estimator& estimator = training.estimator;
  const auto& layers = training.owned.model.layers;
  const auto seventh = std::find_if(layers.begin(), layers.end(), [](const Layer& each) { return each.block == 6; });
  const int first = static_cast<int>(seventh - layers.begin());
  Plan plan = plan_on(Mesh{{Axis::data, 4}, {Axis::pipeline, 2}}, 64);
  plan.micro_batches = 4;
  // 64 samples of 1,024 tokens and 768 channels in 4 micro-batches: each of 4 ranks has 4 of 16 samples in fp32.
  constexpr double tensor = 16.0 * 1024 * 768 * 4;
  const Estimate uniform = estimator.estimate(plan);
  CHECK(estimator.tables().costs(plan).cut_bytes(first).value() == Approx(tensor / 4));
  plan.segments = {{first, Mesh{{Axis::tensor, 4}, {Axis::pipeline, 2}}}};
  REQUIRE(estimator.limits(plan).empty());
  // Each rank sends its samples. The ranks of the second stage gather all 16, and each of them needs the gradient of 4.
  const LayerCostTable& costs = estimator.tables().costs(plan);
  CHECK(costs.cut_bytes(first).value() == Approx(tensor / 4));
  CHECK(exchanges_of(estimator, plan, first) == Texts{"forward allgather of 786432 among tensor"});
  // The first stage has the same kernels, and its weights are divided in the second stage.
  const Estimate segments = estimator.estimate(plan);
  CHECK(segments.time.step_time() > uniform.time.step_time() * 0.5);
  CHECK(estimator.memories().memory(plan, estimator.stages(plan), 1).weights <
        estimator.memories().memory(plan, estimator.stages(plan), 0).weights * 0.7);
  // With sequence parallelism, each rank of the second stage needs 256 tokens of 16 samples, and has 1,024 of 4.
  plan.sequence_parallel = true;
  REQUIRE(estimator.limits(plan).empty());
  const Texts exchanges = exchanges_of(estimator, plan, first);
  REQUIRE(!exchanges.empty());
  CHECK(exchanges.front() == "forward all-to-all of 196608 among tensor");
}

TEST_CASE("ranks of a context split are laid out anew as tiles are") {
  const Training training("gpt2", 8, false);
  const Estimator& estimator = training.estimator;
  const auto& layers = training.owned.model.layers;
  const auto seventh = std::find_if(layers.begin(), layers.end(), [](const Layer& each) { return each.block == 6; });
  const int first = static_cast<int>(seventh - layers.begin());
  // A sample has 1,024 tokens of 768 channels at each border.
  Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  plan.segments = {{first, Mesh{{Axis::data, 4}, {Axis::context, 2}}}};
  REQUIRE(estimator.limits(plan).empty());
  // A rank has an eighth of the samples, and needs half of the tokens of a fourth of them: half of it is on the other rank.
  const double whole = 1024.0 * 768;
  const Texts anew = exchanges_of(estimator, plan, first);
  REQUIRE(anew.size() == 2);
  CHECK(anew[0] == fmt::format("forward all-to-all of {} among context", whole / 2));
  CHECK(anew[1] == fmt::format("backward all-to-all of {} among context", whole / 2));
  // With the same context degree in both layouts, the exchanges are those of half of the tokens.
  // The head reads the table of the embedding, and is laid out like it.
  const auto head = std::find_if(layers.begin(), layers.end(), [](const Layer& each) { return each.tied_to >= 0; });
  const int last = static_cast<int>(head - layers.begin());
  Plan half = plan_on(Mesh{{Axis::data, 4}, {Axis::context, 2}}, 64);
  half.segments = {{first, Mesh{{Axis::tensor, 4}, {Axis::context, 2}}}, {last, half.mesh}};
  REQUIRE(estimator.limits(half).empty());
  Plan of_whole = plan_on(Mesh{{Axis::data, 4}}, 64);
  of_whole.segments = {{first, Mesh{{Axis::tensor, 4}}}, {last, of_whole.mesh}};
  CHECK(exchanges_of(estimator, of_whole, first) == Texts{fmt::format("forward allgather of {} among tensor", whole)});
  CHECK(exchanges_of(estimator, half, first) == Texts{fmt::format("forward allgather of {} among tensor", whole / 2)});
}

TEST_CASE("plans with several layouts have as many stages in each of them") {
  const Training training("gpt2", 8, false);
  const Estimator& estimator = training.estimator;
  const auto limit_of = [&](const Plan& plan) {
    const Limits limits = estimator.limits(plan);
    return limits.empty() ? std::string() : std::string(limits.begin()->item);
  };
  Plan plan = plan_on(Mesh{{Axis::data, 4}, {Axis::pipeline, 2}}, 64);
  plan.micro_batches = 4;
  plan.segments = {{60, Mesh{{Axis::data, 2}, {Axis::pipeline, 4}}}};
  CHECK(limit_of(plan) == "different numbers of pipeline stages");
  plan.segments = {{60, Mesh{{Axis::data, 2}, {Axis::tensor, 2}, {Axis::pipeline, 2}}}};
  CHECK(limit_of(plan).empty());
  // A stage has the ranks 0 to 3 with one layout, and cannot have the ranks 0, 1, 4 and 5 with the other.
  plan.placement = {Axis::tensor,  Axis::channel, Axis::filter,   Axis::context,
                    Axis::spatial, Axis::expert,  Axis::pipeline, Axis::data};
  CHECK(limit_of(plan) == "placements of other degrees outside of the pipeline");
  plan.placement = all_axes;
  plan.virtual_stages = 2;
  CHECK(limit_of(plan) == "virtual stages");
}

/// Returns the fastest of all assignments of meshes to units.
Estimate fastest_of_all(const Estimator& estimator, const Plan& alike, const std::vector<Mesh>& meshes,
                        const std::vector<int>& firsts) {
  Estimate best;
  std::vector<std::size_t> choice(firsts.size(), 0);
  while (true) {
    Plan plan = on_mesh(alike, meshes[choice.front()]);
    for (std::size_t i = 1; i < firsts.size(); ++i) plan.segments.push_back({firsts[i], meshes[choice[i]]});
    join_segments(plan);
    if (const Estimate estimate = estimator.estimate(plan);
        estimate.feasible() &&
        (!best.feasible() || best.time.step_time().value() <= 0 || estimate.time.step_time() < best.time.step_time())) {
      best = estimate;
    }
    std::size_t place = 0;
    while (place < choice.size() && ++choice[place] == meshes.size()) choice[place++] = 0;
    if (place == choice.size()) return best;
  }
}

struct Question {
  std::string model;  ///< the small U-Net, if empty
  int devices_of_node = 4;
  std::int64_t devices = 8, batch = 256;
  std::vector<Axis> axes;
  int stages = 1;
  double memory = 16e9;  ///< bytes of a device
};

TEST_CASE("the search finds the fastest assignment of layouts to layers") {
  const std::vector<Question> questions{{"alexnet", 4, 32, 1024, {Axis::data, Axis::filter}},
                                        {"alexnet", 4, 8, 256, {Axis::data, Axis::filter}},
                                        {"alexnet", 4, 64, 2048, {Axis::data, Axis::filter}},
                                        {"alexnet", 4, 16, 512, {Axis::data, Axis::channel}},
                                        {"alexnet", 4, 32, 1024, {Axis::data, Axis::tensor}},
                                        {"alexnet", 8, 8, 256, {Axis::data, Axis::filter, Axis::channel}},
                                        {"alexnet", 8, 8, 1024, {Axis::data, Axis::tensor}},
                                        {"alexnet", 8, 16, 2048, {Axis::data, Axis::filter, Axis::tensor}},
                                        {"cosmoflow-128", 4, 8, 8, {Axis::data, Axis::filter}},
                                        {"cosmoflow-128", 4, 16, 16, {Axis::data, Axis::channel}},
                                        {"alexnet", 8, 4, 256, {Axis::data, Axis::spatial}},
                                        {"alexnet", 8, 8, 2048, {Axis::data, Axis::filter}, 1, 4e9},
                                        {"alexnet", 8, 8, 512, {Axis::data, Axis::filter}, 2},
                                        {"alexnet", 4, 16, 512, {Axis::data, Axis::tensor}, 2},
                                        {"alexnet", 4, 32, 1024, {Axis::data, Axis::filter}, 4},
                                        {"cosmoflow-128", 4, 8, 16, {Axis::data, Axis::channel}, 2},
                                        {"gpt2@layers=2", 4, 8, 8, {Axis::context, Axis::data}},
                                        {"gpt2@layers=2", 4, 16, 16, {Axis::context, Axis::tensor, Axis::data}},
                                        {"", 4, 8, 8, {Axis::data, Axis::channel}},
                                        {"", 4, 8, 8, {Axis::data, Axis::tensor}},
                                        {"", 8, 8, 4, {Axis::spatial, Axis::tensor}},
                                        {"", 4, 8, 2, {Axis::spatial, Axis::filter}},
                                        {"", 8, 8, 64, {Axis::data, Axis::filter}, 1, 3e9}};
  int compared = 0;
  for (const Question& question : questions) {
    INFO(fmt::format("{} on {}, B = {}", question.model, question.devices, question.batch));
    const Training training(question.model.empty() ? small_u_net(32) : load_model(question.model), question.devices_of_node,
                            false, question.memory);
    const Estimator& estimator = training.estimator;
    const std::vector<int> firsts = unit_graph(training.owned.facts).firsts;
    SearchOptions options;
    options.devices = question.devices;
    options.global_batch = question.batch;
    std::vector<Mesh> meshes;
    const int ranks = static_cast<int>(question.devices) / question.stages;
    const Family pipeline = question.stages > 1 ? family_bit(Axis::pipeline) : 0;
    for (const Axis axis : question.axes) {
      options.families.push_back({family_bit(axis) | pipeline, std::nullopt});
      meshes.push_back(Mesh{{axis, ranks}, {Axis::pipeline, question.stages}});
      if (axis == Axis::spatial) meshes.back() = Mesh(Tiles{2, ranks / 2, 1});
    }
    Plan alike = plan_on(meshes.front(), question.batch);
    alike.micro_batches = question.stages;
    const Estimate best = fastest_of_all(estimator, alike, meshes, firsts);
    const std::optional<Estimate> found = best_by_layer(estimator, options, alike);
    if (best.plan.segments.empty()) continue;
    ++compared;
    REQUIRE(found);
    INFO(fmt::format("{} segments found, {} best: {} and {} s", found->plan.segments.size(), best.plan.segments.size(),
                     found->time.step_time().value(), best.time.step_time().value()));
    // Gradients of several layers are one message, whose time is not quite the sum of the times of its parts.
    CHECK(found->time.step_time() <= best.time.step_time() * 1.01);
  }
  CHECK(compared >= 17);
}

TEST_CASE("layers that read the same weights divide them alike") {
  const Training training("gpt2@layers=2", 8, false);  // the head reads the table of the embedding
  const Estimator& estimator = training.estimator;
  const auto& layers = training.owned.model.layers;
  const auto head = std::find_if(layers.begin(), layers.end(), [](const Layer& each) { return each.tied_to >= 0; });
  REQUIRE(head != layers.end());
  const int last = static_cast<int>(head - layers.begin());
  Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  plan.segments = {{last, Mesh{{Axis::tensor, 8}}}};
  REQUIRE(!estimator.limits(plan).empty());
  CHECK(estimator.limits(plan).begin()->item == "weights of two layers that are divided differently");
  plan.mesh = Mesh{{Axis::tensor, 8}};
  plan.segments = {{1, Mesh{{Axis::data, 8}}}, {last, Mesh{{Axis::tensor, 8}}}};
  CHECK(estimator.limits(plan).empty());
  // Shards of tokens leave the weights whole.
  plan.mesh = Mesh{{Axis::data, 8}};
  plan.segments = {{last, Mesh{{Axis::data, 4}, {Axis::context, 2}}}};
  CHECK(estimator.limits(plan).empty());
}

TEST_CASE("the search finds the fastest way to hold each table") {
  // Tables of 30 million, 200,000, 2,000 and 20 rows, of which a sample looks up 1, 8, 1 and 2.
  std::string text = "format: 1\nmodel: small\ninput: {features: 13}\nlayers:\n  - fully_connected: 64\n    name: dense\n";
  const std::vector<std::pair<int, int>> sizes{{30'000'000, 1}, {200'000, 8}, {2'000, 1}, {20, 2}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text += fmt::format(
        "  - input: {{tokens: {1}}}\n    name: category{0}\n  - embedding: {{vocabulary: {2}, features: 64}}\n"
        "    name: table{0}\n  - pool: {{kind: average, global: yes}}\n  - flatten:\n    name: vector{0}\n",
        i, sizes[i].second, sizes[i].first);
  }
  text +=
      "  - interaction:\n    from: [dense, vector0, vector1, vector2, vector3]\n  - fully_connected: 1\n"
      "  - loss: cross_entropy\n";
  constexpr std::array ways{Tables::replicated, Tables::whole, Tables::rows, Tables::columns};
  int compared = 0;
  for (const int devices_of_node : {4, 8}) {
    for (const int ranks : {8, 16}) {
      for (const std::int64_t batch : {4096, 65536}) {
        const OwnedJob owned(parse_model(text, "small.yaml"), nodes_of(devices_of_node, 16e9), assumptions_of(false), 1e6);
        const Estimator estimator(owned.job);
        Plan plan = plan_on(Mesh{{Axis::data, ranks}}, batch);
        std::optional<Estimate> best;
        for (int number = 0; number < 256; ++number) {
          plan.tables = ways[static_cast<std::size_t>(number % 4)];
          plan.table_segments.clear();
          for (int table = 1, rest = number / 4; table < 4; ++table, rest /= 4)
            plan.table_segments.push_back({table, ways[static_cast<std::size_t>(rest % 4)]});
          join_table_segments(plan);
          Estimate estimate = estimator.estimate(plan);
          if (estimate.feasible() && (!best || estimate.time.step_time() < best->time.step_time())) best = estimate;
        }
        REQUIRE(best);
        if (best->plan.table_segments.empty()) continue;
        INFO(fmt::format("{} ranks of nodes of {}, B = {}, {}", ranks, devices_of_node, batch,
                         table_segments_text(best->plan)));
        const std::optional<Estimate> found = best_by_table(estimator, plan_on(Mesh{{Axis::data, ranks}}, batch));
        REQUIRE(found);
        ++compared;
        CHECK(found->time.step_time().value() == Approx(best->time.step_time().value()).epsilon(1e-9));
      }
    }
  }
  CHECK(compared >= 7);
}

TEST_CASE("stages with older versions of their weights do not wait for each other, and keep the versions") {
  const Training training("gpt2", 8, false);
  Assumptions without_end = assumptions_of(false);
  without_end.weight_versions = true;
  const OwnedJob pipedream(load_model("gpt2"), nodes_of(8, 16e9), without_end, 1e6);
  const Estimator estimator(pipedream.job);
  Plan plan = plan_on(Mesh{{Axis::pipeline, 4}}, 4);
  for (const int micro_batches : {1, 4}) {
    plan.micro_batches = micro_batches;
    plan.global_batch = 4 * micro_batches;
    const Estimate waits = training.estimator.estimate(plan), goes_on = estimator.estimate(plan);
    REQUIRE(goes_on.time.step_time().value() > 0);
    CHECK(waits.time[Part::bubble] > Seconds{});
    CHECK(goes_on.time[Part::bubble] == Seconds{});
    CHECK(goes_on.time[Part::forward].value() == Approx(waits.time[Part::forward].value()));
    // The first of four stages has four micro-batches in flight: four versions if each has an update of its own, two if
    // four of them have one [PipeDream, SOSP 2019, section 3.3; PipeDream-2BW, ICML 2021, section 3.1].
    const std::vector<int>& firsts = estimator.stages(plan);
    const Bytes own = training.estimator.memories().memory(plan, firsts, 0).weights;
    CHECK(estimator.memories().memory(plan, firsts, 0).weights.value() ==
          Approx(own.value() * (micro_batches == 1 ? 4 : 2)).epsilon(0.01));
    CHECK(estimator.memories().memory(plan, firsts, 3).weights.value() ==
          Approx(training.estimator.memories().memory(plan, firsts, 3).weights.value()).epsilon(0.01));
  }
  // The model of the allocator has the same memory.
  plan.micro_batches = 1;
  plan.global_batch = 4;
  const MemoryBreakdown held = estimator.memories().memory(plan, estimator.stages(plan), 0);
  CHECK(memory_timeline(estimator.stage(plan, 0), {}).peak.allocated.value() ==
        Approx(held.allocated().value()).epsilon(0.02));
  plan.zero_stage = 3;
  plan.mesh.set(Axis::data, 2);
  CHECK(estimator.limits(plan).begin()->kind == Limit::Kind::weight_versions);
}

TEST_CASE("a convolutional network on many GPUs is faster with fully connected layers in parts") {
  // Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv 1404.5997: data parallelism for
  // convolutions, and model parallelism for fully connected layers.
  const Training training("alexnet", 4, false);
  const Estimator& estimator = training.estimator;
  Plan plan = plan_on(Mesh{{Axis::data, 32}}, 1024);
  const Estimate uniform = estimator.estimate(plan);
  const auto& layers = training.owned.model.layers;
  const auto first = std::find_if(layers.begin(), layers.end(),
                                  [](const Layer& each) { return each.operation->type() == "fully_connected"; });
  plan.segments = {{static_cast<int>(first - layers.begin()), Mesh{{Axis::filter, 32}}}};
  const Estimate segments = estimator.estimate(plan);
  REQUIRE(uniform.time.step_time().value() > 0);
  REQUIRE(segments.time.step_time().value() > 0);
  CHECK(segments.time.step_time() < uniform.time.step_time() * 0.9);
  // Fully connected layers have 58.6 of the 61 million parameters, and no rank but one holds each of them.
  CHECK(segments.memory.weights < uniform.memory.weights * 0.2);
}

}  // namespace

}  // namespace segments_tests
