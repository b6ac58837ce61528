// Fuzzes any YAML: all accessors are called on each node.

#include "core/yaml_node.hpp"
#include "tests/fuzz/fuzzer.hpp"

namespace ddl {
namespace {

void ask(const YamlNode& node) {
  require(node.line() >= 1 && node.column() >= 1, "a node without a place");
  succeeds([&] { static_cast<void>(node.boolean()); });
  succeeds([&] {
    const std::int64_t value = node.integer(-1000, 1000);
    require(value >= -1000 && value <= 1000, "a whole number outside its range");
  });
  succeeds([&] {
    const double value = node.number(0, 1);
    require(value >= 0 && value <= 1, "a number outside its range");
  });
  succeeds([&] { require(node.bytes().value() > 0, "an amount of no bytes"); });
  succeeds([&] { require(node.seconds(true).value() >= 0, "a negative time"); });
  succeeds([&] { require(node.bandwidth().value() > 0, "no bandwidth"); });
  succeeds([&] { require(node.flop_rate().value() > 0, "no rate"); });
  succeeds([&] { require(node.text().size() <= YamlNode::max_text, "a text above its limit"); });
  succeeds([&] { require(node.name().size() <= YamlNode::max_name, "a name above its limit"); });
  require(!succeeds([&] { node.fail("asked for", "a hint"); }), "a failure that is none");
}

void walk(const YamlNode& node, int depth) {
  require(depth <= YamlNode::max_depth, "nested deeper than the limit");
  ask(node);
  if (node.is_sequence()) {
    for (const YamlNode& item : node.items()) walk(item, depth + 1);
  }
  if (!node.is_map()) return;
  for (const auto& [key, value] : node.entries()) {
    ask(key);
    walk(value, depth + 1);
  }
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto root = ddl::result_of([&] { return ddl::YamlNode::parse(ddl::text_of(data, size), "any.yaml"); });
  if (root) ddl::walk(*root, 0);
  return 0;
}
