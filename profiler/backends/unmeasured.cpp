#include "profiler/backends/unmeasured.hpp"

#include <array>

#include <fmt/format.h>

namespace ddl {
namespace {

/// An attribute that makes an operation unsupported, and the name of this variant in the refusal.
struct Variant {
  std::string_view operation, attribute, name;
};
constexpr std::array<Variant, 11> variants{{
    {"class_token", "each", "a class token for each image of a sequence"},
    {"position_embedding", "repeated", "a table of repeated positions"},
    {"attention", "sinks", "attention with sinks"},
    {"attention", "soft_cap", "attention with capped scores"},
    {"attention", "value_size", "attention whose values have another size than its keys"},
    {"loss", "soft_cap", "a loss with capped outputs"},
    {"router", "scores", "a router with sigmoids"},
    {"router", "bias", "a router with a bias"},
    {"router", "correction", "a router with corrected scores"},
    {"router", "groups", "a router with groups of experts"},
    {"slice", "tokens", "a slice of the tokens"},
}};

}  // namespace

std::string unmeasured_variant(const Problem& problem) {
  const std::vector<TensorShape>& inputs = problem.inputs;
  if (problem.operation->type() == "multiply" && inputs.size() == 2 && inputs[1].sequence &&
      inputs[1].channels < inputs[0].channels) {
    return "a product with one factor for each token is not supported by this back end";
  }
  const AttributeValues attributes = problem.operation->attribute_values();
  for (const Variant& variant : variants) {
    if (problem.operation->type() == variant.operation && attributes.has(variant.attribute)) {
      return fmt::format("{} is not supported by this back end", variant.name);
    }
  }
  return {};
}

}  // namespace ddl
