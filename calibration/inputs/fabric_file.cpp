#include "calibration/inputs/fabric_file.hpp"

#include <fmt/format.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/file_names.hpp"
#include "core/bundled_yaml.hpp"
#include "core/embedded.hpp"
#include "core/file_format.hpp"
#include "core/plausible.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

/// A factor above this limit is probably a typing error.
constexpr double largest_fabric_factor = 100;
constexpr double largest_doubt = 1000;
/// Two ranks leave at most three quarters of their links idle.
constexpr double most_idle_links = 1.5;
constexpr int most_clusters = 1'000'000;

}  // namespace

Fabric parse_fabric(const YamlNode& root) {
  check_format(root);
  root.only_keys(
      {"format",     "fabric",           "description",     "joins",      "sources",   "clusters",   "step",  "call",
       "tree_level", "tree_inside",      "message",         "ring_fill",  "tree_fill", "all_to_all", "doubt", "quick",
       "bulk",       "all_to_all_quick", "all_to_all_bulk", "idle_links", "grouped"});
  Fabric fabric;
  LibraryConstants& constants = fabric.constants;
  constants.fabric = root.at("fabric").name();
  fabric.description = root.at("description").text();
  const YamlNode joins = root.at("joins");
  fabric.inside_nodes = joins.text() == "devices";
  if (!fabric.inside_nodes && joins.text() != "nodes")
    joins.fail(fmt::format("{} cannot be connected by a fabric", quote(joins.text())), "known: devices, nodes");
  for (const YamlNode& source : root.at("sources").items()) static_cast<void>(source.text());
  constants.clusters = static_cast<int>(root.at("clusters").integer(1, most_clusters));
  fabric.step = root.at("step").seconds(true, plausible_latency);
  constants.call = root.at("call").seconds(true, plausible_latency);
  const auto factor = [&](const char* key) { return root.at(key).number(0, largest_fabric_factor); };
  constants.tree_level = factor("tree_level");
  constants.tree_inside = factor("tree_inside");
  constants.message = factor("message");
  constants.ring_fill = factor("ring_fill");
  constants.tree_fill = factor("tree_fill");
  const auto share = [&](const YamlNode& node) {
    const double value = node.number(0, 1);
    if (value == 0) node.fail("must be greater than zero", "write a fraction: 1 is the whole bandwidth");
    return value;
  };
  constants.all_to_all = share(root.at("all_to_all"));
  if (fabric.inside_nodes) {
    constants.quick = share(root.at("quick"));
    constants.all_to_all_quick = share(root.at("all_to_all_quick"));
    constants.bulk = root.at("bulk").seconds(true, plausible_latency);
    constants.all_to_all_bulk = root.at("all_to_all_bulk").seconds(true, plausible_latency);
    constants.idle_links = root.at("idle_links").number(0, most_idle_links);
    if (const auto node = root.find("grouped")) node->fail("only a fabric between nodes has this key");
  } else {
    if (const auto node = root.find("grouped")) constants.grouped = node->number(1, largest_fabric_factor);
    for (const char* key : {"quick", "all_to_all_quick", "bulk", "all_to_all_bulk", "idle_links"}) {
      if (const auto node = root.find(key)) node->fail("only a fabric inside a node has this key");
    }
  }
  constants.doubt = root.at("doubt").number(1, largest_doubt);
  return fabric;
}

std::vector<std::string> fabric_names() { return names_of(fabric_files()); }

Fabric bundled_fabric(const YamlNode& name) {
  for (const EmbeddedFile& file : fabric_files()) {
    if (file.name == name.text()) return parse_fabric(bundled_yaml(file));
  }
  name.fail(fmt::format("unknown fabric {}", quote(name.text())), suggest(name.text(), fabric_names()));
}

}  // namespace ddl
