#include "model_zoo/files/catalogue.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/bundled_yaml.hpp"
#include "core/embedded.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"

namespace ddl {
std::span<const EmbeddedFile> bundled_models();
}

namespace catalogue_tests {

using namespace ddl;

namespace {

std::string text_of(const YamlNode& root, std::string_view key) {
  const auto found = root.find(key);
  return found ? found->text() : std::string();
}

/// Returns a row of the catalogue as the model file has it. A kind is data: it stays, and a new model has the kind of its
/// family. A language model with experts is of the kind `moe`.
CatalogueEntry entry_of(const EmbeddedFile& file, const std::map<std::string, std::string>& kinds) {
  const YamlNode root = bundled_yaml(file);
  const Model model = load_model(std::string(file.name));
  CatalogueEntry entry{.name = std::string(file.name), .kind = {}, .family = text_of(root, "family")};
  const auto own = kinds.find(entry.name), of_family = kinds.find("family " + entry.family);
  entry.kind = own != kinds.end() ? own->second : of_family != kinds.end() ? of_family->second : "unknown";
  const bool has_experts = std::any_of(model.layers.begin(), model.layers.end(),
                                       [](const Layer& layer) { return layer.operation->experts() > 1; });
  if (entry.kind == "language" || entry.kind == "moe") entry.kind = has_experts ? "moe" : "language";
  entry.parameters = model.parameters();
  entry.flops_forward = model.flops_forward();
  entry.multiply_adds = model.macs();
  entry.layers = static_cast<std::int64_t>(model.layers.size());
  entry.input = to_string(model.input);
  if (const auto aliases = root.find("aliases")) {
    for (const YamlNode& alias : aliases->items()) entry.aliases.push_back(alias.text());
  }
  return entry;
}

std::string row_of(const CatalogueEntry& entry) {
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", entry.name, entry.kind, entry.family, entry.parameters,
                     entry.flops_forward, entry.multiply_adds, entry.layers, entry.input, fmt::join(entry.aliases, "|"));
}

}  // namespace

TEST_CASE("the catalogue has each bundled model, as its file describes it") {
  std::map<std::string, std::string> kinds;
  std::string now = "model,kind,family,parameters,flops_forward,multiply_adds,layers,input,aliases\n", expected = now;
  for (const CatalogueEntry& entry : model_catalogue()) {
    kinds[entry.name] = entry.kind;
    if (!entry.family.empty()) kinds["family " + entry.family] = entry.kind;
    now += row_of(entry);
  }
  for (const EmbeddedFile& file : bundled_models()) expected += row_of(entry_of(file, kinds));
  if (std::getenv("DDL_ACCEPT") != nullptr) {
    std::ofstream(MODELS_FOLDER "../catalogue/models.csv") << expected;
    WARN("rewrote model_zoo/catalogue/models.csv; build again");
    return;
  }
  // DDL_ACCEPT=1 rewrites the catalogue after a change of a model.
  CHECK(now == expected);
}

TEST_CASE("each kind of model is known, and no two models have one spelling") {
  const std::vector<std::string> kinds = model_kinds();
  CHECK(kinds.size() == 10);
  std::set<std::string> used;
  std::map<std::string, std::string> spellings;
  for (const CatalogueEntry& entry : model_catalogue()) {
    INFO(entry.name);
    used.insert(entry.kind);
    for (const std::string& alias : entry.aliases) {
      INFO(alias);
      CHECK(canonical_model_name(alias) == entry.name);
    }
  }
  CHECK(used.size() == kinds.size());
}

TEST_CASE("the kind of a network does not depend on its name") {
  for (const char* const name :
       {"mixtral-8x7b", "resnet50", "gpt2", "swin_t", "llama2-7b", "llama2-7b@lora=16", "alexnet"}) {
    INFO(name);
    Model model = load_model(name);
    REQUIRE(find_in_catalogue(model) != nullptr);
    const std::string kind = find_in_catalogue(model)->kind;
    const bool has_experts = kind == "moe";
    CHECK(network_kind(model, has_experts) == kind);
    CHECK(kind_of(model) == kind);
    model.name = "mine";
    CHECK(find_in_catalogue(model) == nullptr);
    CHECK(network_kind(model, has_experts) == kind);
  }
  Model model = load_model("gpt2");
  model.name = "swin_t";
  CHECK(network_kind(model, false) == "language");
}

TEST_CASE("models of text, images from text and speech are trained in half precision by default, and classifiers are not") {
  for (const char* const name : {"gpt2", "flux.1-dev", "whisper-small", "qwen2.5-vl-7b", "sdxl"})
    CHECK(is_usually_half(load_model(name)));
  for (const char* const name : {"resnet50", "vit_b_16", "cosmoflow-128", "deepcam"})
    CHECK_FALSE(is_usually_half(load_model(name)));
}

}  // namespace catalogue_tests
