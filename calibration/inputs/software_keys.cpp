#include "calibration/inputs/software_keys.hpp"

#include <fmt/format.h>

#include "calibration/files/launch_overhead.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

/// θ above this is a slip of the keyboard: a thousand ranks would take eight times as long.
constexpr double largest_rank_waiting = 1;
constexpr double largest_overlap_slowdown = 10;
constexpr double largest_backward_threads = 10;
constexpr double largest_backward_starts = 10;
constexpr double largest_expert_starts = 10;
constexpr double largest_tile_copies = 100;

Route read_route(const YamlNode& node) {
  if (node.text() == "direct") return Route::direct;
  if (node.text() == "host") return Route::host;
  node.fail(fmt::format("unknown route {}", quote(node.text())), "known: direct, host");
}

AllreduceAlgorithm read_algorithm(const YamlNode& node) {
  if (const auto algorithm = parse_allreduce_algorithm(node.text())) return *algorithm;
  std::vector<std::string_view> known;
  for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) known.push_back(to_string(algorithm));
  node.fail(fmt::format("unknown Allreduce algorithm {}", quote(node.text())), suggest(node.text(), known));
}

double read_density(const YamlNode& node) {
  const double density = node.number(0, 1);
  if (density == 0) node.fail("must be greater than zero", "the share of the gradients that is sent");
  return density;
}

}  // namespace

const std::vector<SoftwareKey>& software_keys() {
  static const std::vector<SoftwareKey> keys{
      {"gradient_route", false, [](const YamlNode& v, Software& s) { s.gradient_route = read_route(v); }},
      {"layer_route", false, [](const YamlNode& v, Software& s) { s.layer_route = read_route(v); }},
      {"halo_route", false, [](const YamlNode& v, Software& s) { s.halo_route = read_route(v); }},
      {"overlaps_gradients", true, [](const YamlNode& v, Software& s) { s.overlaps_gradients = v.boolean(); }},
      {"overlaps_weight_gathers", true, [](const YamlNode& v, Software& s) { s.overlaps_weight_gathers = v.boolean(); }},
      {"overlaps_tensor_exchanges", true, [](const YamlNode& v, Software& s) { s.overlaps_tensor_exchanges = v.boolean(); }},
      {"overlaps_expert_exchanges", true, [](const YamlNode& v, Software& s) { s.overlaps_expert_exchanges = v.boolean(); }},
      {"routes_tokens_once", true, [](const YamlNode& v, Software& s) { s.routes_tokens_once = v.boolean(); }},
      {"equal_stages", true, [](const YamlNode& v, Software& s) { s.equal_stages = v.boolean(); }},
      {"gradient_algorithm", true, [](const YamlNode& v, Software& s) { s.gradient_algorithm = read_algorithm(v); }},
      {"hybrid_gradient_algorithm", false,
       [](const YamlNode& v, Software& s) { s.hybrid_gradient_algorithm = read_algorithm(v); }},
      {"layer_algorithm", false, [](const YamlNode& v, Software& s) { s.layer_algorithm = read_algorithm(v); }},
      {"gradient_density", false, [](const YamlNode& v, Software& s) { s.gradient_density = read_density(v); }},
      {"whole_gradients_in_hybrids", false,
       [](const YamlNode& v, Software& s) { s.whole_gradients_in_hybrids = v.boolean(); }},
      {"layered_gradients_in_hybrids", false,
       [](const YamlNode& v, Software& s) { s.layered_gradients_in_hybrids = v.boolean(); }},
      {"backward_starts", true,
       [](const YamlNode& v, Software& s) { s.backward_starts = v.number(0, largest_backward_starts); }},
      {"expert_starts", true, [](const YamlNode& v, Software& s) { s.expert_starts = v.number(0, largest_expert_starts); }},
      {"one_process", true, [](const YamlNode& v, Software& s) { s.one_process = v.boolean(); }},
      {"serial_forward", true, [](const YamlNode& v, Software& s) { s.serial_forward = v.number(0, 1); }},
      {"backward_threads", true,
       [](const YamlNode& v, Software& s) { s.backward_threads = v.number(1, largest_backward_threads); }},
      {"managed_memory", false, [](const YamlNode& v, Software& s) { s.managed_memory = v.boolean(); }},
      {"tile_copies", false, [](const YamlNode& v, Software& s) { s.tile_copies = v.number(0, largest_tile_copies); }},
      {"rank_waiting", true, [](const YamlNode& v, Software& s) { s.rank_waiting = v.number(0, largest_rank_waiting); }},
      {"overlap_slowdown", true,
       [](const YamlNode& v, Software& s) { s.overlap_slowdown = v.number(1, largest_overlap_slowdown); }},
      {"launch_overhead", false, [](const YamlNode& v, Software& s) { s.launch_overhead = read_launch_overhead(v); },
       former_launch_overhead.former},
  };
  return keys;
}

}  // namespace ddl
