#include "estimator/search/degrees.hpp"

#include <algorithm>
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

TEST_CASE("a single device has no neighbors") { CHECK(neighbors_of(Mesh{}).empty()); }

}  // namespace degrees_tests
