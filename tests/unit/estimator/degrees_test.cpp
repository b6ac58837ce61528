#include "estimator/search/degrees.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tests/catch.hpp"

namespace degrees_tests {

using namespace ddl;

TEST_CASE("a neighbor of a mesh has one prime factor of a degree along another dimension") {
  const Mesh mesh{{Axis::data, 12}, {Axis::tensor, 2}};
  const std::vector<Mesh> neighbors = neighbors_of(mesh);
  // The data degree can give a factor 2 or 3, and the tensor degree a factor 2, to each of the other dimensions.
  CHECK(neighbors.size() == 3 * (mesh_dimensions - 1));
  for (const Mesh& each : neighbors) CHECK(each.devices() == mesh.devices());
  const auto has = [&](const Mesh& asked) {
    return std::find(neighbors.begin(), neighbors.end(), asked) != neighbors.end();
  };
  CHECK(has({{Axis::data, 24}}));
  CHECK(has({{Axis::data, 4}, {Axis::tensor, 6}}));
  CHECK(has({{Axis::data, 6}, {Axis::tensor, 2}, {Axis::pipeline, 2}}));
  CHECK_FALSE(has({{Axis::data, 3}, {Axis::tensor, 8}}));
}

TEST_CASE("usual meshes have all devices, and belong to the strategies that are searched") {
  ModelFacts facts;
  Machine machine;
  machine.levels.push_back({"node", 4, Seconds(3e-6), Bandwidth(50e9), 2});
  SearchOptions options;
  options.devices = 96;
  const auto meshes = [&] { return usual_meshes(options, facts, machine); };
  // Whole layers in 1 to 16 stages, and layers split among the four devices of a node in 1 to 8 stages.
  CHECK(meshes().size() == 9);
  facts.experts = 8;
  CHECK(meshes().size() == 9 + 4 + 2);
  for (const Mesh& each : meshes()) CHECK(each.devices() == 96);
  facts.experts = 0;
  options.admitted.pipelines = false;
  CHECK(meshes().size() == 2);
  options.families = {{family_bit(Axis::data) | family_bit(Axis::tensor), std::nullopt}};
  CHECK(meshes() == std::vector<Mesh>{{{Axis::data, 24}, {Axis::tensor, 4}}});
}

TEST_CASE("usual meshes differ from each other, and split layers and experts among at most eight devices of a node") {
  ModelFacts facts;
  facts.experts = 8;
  Machine machine;
  machine.levels.push_back({"node", 1, Seconds(3e-6), Bandwidth(50e9), 2});
  SearchOptions options;
  const auto most_parts = [&](int devices_per_node, std::int64_t devices) {
    machine.levels.front().units = devices_per_node;
    options.devices = devices;
    const std::vector<Mesh> meshes = usual_meshes(options, facts, machine);
    int most = 1;
    for (auto each = meshes.begin(); each != meshes.end(); ++each) {
      CHECK(std::find(meshes.begin(), each, *each) == each);
      CHECK(each->devices() == devices);
      CHECK((*each)[Axis::expert] <= std::min(devices_per_node, 8));
      most = std::max(most, (*each)[Axis::tensor]);
    }
    return most;
  };
  CHECK(most_parts(1, 64) == 1);
  CHECK(most_parts(4, 64) == 4);
  CHECK(most_parts(8, 4) == 4);
  CHECK(most_parts(6, 64) == 4);
  CHECK(most_parts(72, 64) == 8);
  CHECK(most_parts(4096, 256) == 8);
  machine.levels.clear();
  CHECK(usual_meshes(options, facts, machine).size() == 5);  // 1 to 16 stages of whole layers
}

TEST_CASE("a single device has no neighbors") { CHECK(neighbors_of(Mesh{}).empty()); }

TEST_CASE("the meshes of a requested strategy are its meshes among those of all strategies, in the same order") {
  Model model;
  model.input.sequence = true;
  ModelFacts facts;
  facts.model = &model;
  facts.experts = 4;
  facts.context_units = 16;
  SearchOptions options;
  options.devices = 48;
  std::map<Family, std::vector<Mesh>> all;
  Degrees(options, facts).each([&](Family family, const Mesh& mesh) {
    CHECK(family == mesh.family());
    CHECK(is_meaningful(family));
    CHECK(mesh.devices() == 48);
    all[family].push_back(mesh);
    return true;
  });
  // 48 has 10 divisors, of which 8 are neither 1 nor 48.
  CHECK(all[family_bit(Axis::data)].size() == 1);
  CHECK(all[family_bit(Axis::data) | family_bit(Axis::pipeline)].size() == 8);
  for (const auto& [family, meshes] : all) {
    options.families = {{family, std::nullopt}};
    std::vector<Mesh> own;
    Degrees(options, facts).each([&](Family, const Mesh& mesh) {
      own.push_back(mesh);
      return true;
    });
    CHECK(own == meshes);
  }
}

}  // namespace degrees_tests
