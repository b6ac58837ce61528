#include "calibration/inputs/software_file.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>

#include <fmt/format.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/citations.hpp"
#include "calibration/files/file_names.hpp"
#include "calibration/files/launch_overhead.hpp"
#include "calibration/inputs/software_keys.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

/// A chain of files that extend each other is no longer than this.
constexpr int most_software_files = 8;

/// The place in `names` of what a node says.
template <class Enum>
Enum one_of(const YamlNode& node, std::string_view noun, std::span<const std::string_view> names) {
  const std::string text = node.text();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) node.fail(fmt::format("{} is no {}", quote(text), noun), suggest(text, names));
  return static_cast<Enum>(found - names.begin());
}

UpdateImplementation read_update(const YamlNode& node) {
  const std::string text = node.text();
  const auto parsed = parse_update_implementation(text);
  if (!parsed)
    node.fail(fmt::format("{} is no optimizer_implementation", quote(text)), suggest(text, list_implementation_names()));
  return *parsed;
}

/// Reads names of a choice's values, with spaces between them: `0 1`.
void read_admitted(const YamlNode& node, PlanChoice choice, SoftwareFile& software) {
  const PlanChoiceRow& row = plan_choices()[static_cast<std::size_t>(choice)];
  std::vector<int> values;
  std::istringstream names(node.text());
  for (std::string name; names >> name;) {
    const std::optional<int> value = row.parse(name);
    if (!value) node.fail(fmt::format("{} is no {}", quote(name), row.noun), suggest(name, row.names()));
    values.push_back(*value);
  }
  if (values.empty()) node.fail(fmt::format("no {} is named", row.noun), "leave the key out where all are possible");
  software.admits[static_cast<std::size_t>(choice)] = std::move(values);
}
/// The same of a choice that a framework has or has not.
void read_has(const YamlNode& node, PlanChoice choice, SoftwareFile& software) {
  std::optional<std::vector<int>>& admits = software.admits[static_cast<std::size_t>(choice)];
  admits.reset();
  if (!node.boolean()) admits = std::vector<int>{0};
}

/// A fact that only software files say: of the host, of memory, and of what the framework's kernels are.
struct RecipeKey {
  std::string_view key;
  void (*read)(const YamlNode& value, SoftwareFile& software);
};
const std::vector<RecipeKey>& recipe_keys() {
  static const std::vector<RecipeKey> keys{
      {"launch_overhead", [](const YamlNode& v, SoftwareFile& s) { s.launch_overhead = read_launch_overhead(v); }},
      {"memory_format",
       [](const YamlNode& v, SoftwareFile& s) {
         s.memory_format = one_of<MemoryFormat>(v, "memory_format", memory_format_names);
       }},
      {"memory_format_of_fp32",
       [](const YamlNode& v, SoftwareFile& s) {
         s.memory_format_of_fp32 = one_of<MemoryFormat>(v, "memory_format", memory_format_names);
       }},
      {"copies_volumes", [](const YamlNode& v, SoftwareFile& s) { s.copies_volumes = v.boolean(); }},
      {"mixed_precision",
       [](const YamlNode& v, SoftwareFile& s) {
         s.mixed_precision = one_of<MixedPrecision>(v, "mixed_precision", mixed_precision_names);
       }},
      {"gradient_sums",
       [](const YamlNode& v, SoftwareFile& s) {
         s.gradient_sums = one_of<GradientSums>(v, "gradient_sums", gradient_sums_names);
       }},
      {"cross_entropy",
       [](const YamlNode& v, SoftwareFile& s) {
         s.cross_entropy = one_of<CrossEntropy>(v, "cross_entropy", cross_entropy_names);
       }},
      {"attention", [](const YamlNode& v,
                       SoftwareFile& s) { s.attention = one_of<AttentionKernels>(v, "attention", attention_kernel_names); }},
      {"fusing", [](const YamlNode& v, SoftwareFile& s) { s.fusing = one_of<Fusing>(v, "fusing", fusing_names); }},
      {"composites", [](const YamlNode& v,
                        SoftwareFile& s) { s.composites = one_of<CompositeKernels>(v, "composites", composite_names); }},
      {"attention_sinks",
       [](const YamlNode& v, SoftwareFile& s) {
         s.sinks = one_of<CompositeKernels>(v, "attention_sinks", composite_names);
       }},
      {"own_half_norms", [](const YamlNode& v, SoftwareFile& s) { s.own_half_norms = v.boolean(); }},
      {"convolution_biases",
       [](const YamlNode& v, SoftwareFile& s) {
         s.convolution_biases = one_of<BiasKernels>(v, "convolution_biases", bias_kernel_names);
       }},
      {"linear_biases",
       [](const YamlNode& v, SoftwareFile& s) {
         s.linear_biases = one_of<BiasKernels>(v, "linear_biases", bias_kernel_names);
       }},
      {"expert_biases",
       [](const YamlNode& v, SoftwareFile& s) {
         s.expert_biases = one_of<ExpertBiases>(v, "expert_biases", expert_bias_names);
       }},
      {"selective_recompute",
       [](const YamlNode& v, SoftwareFile& s) {
         s.selective = one_of<SelectiveRecompute>(v, "selective_recompute", selective_recompute_names);
       }},
      {"optimizer_implementation", [](const YamlNode& v, SoftwareFile& s) { s.update = read_update(v); }},
      {"beside_update", [](const YamlNode& v, SoftwareFile& s) { s.beside_update = v.bytes(true).value(); }},
      {"older_framework", [](const YamlNode& v, SoftwareFile& s) { s.older_framework = v.boolean(); }},
      {"engine_groups", [](const YamlNode& v, SoftwareFile& s) { s.engine_groups = v.boolean(); }},
      {"keeps_sent", [](const YamlNode& v, SoftwareFile& s) { s.keeps_sent = v.boolean(); }},
      {"flat_gradients", [](const YamlNode& v, SoftwareFile& s) { s.flat_gradients = v.boolean(); }},
      {"images_only", [](const YamlNode& v, SoftwareFile& s) { s.images_only = v.boolean(); }},
      {"zero_stages", [](const YamlNode& v, SoftwareFile& s) { read_admitted(v, PlanChoice::zero, s); }},
      {"shard_groups", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::shard_group, s); }},
      {"schedules", [](const YamlNode& v, SoftwareFile& s) { read_admitted(v, PlanChoice::schedule, s); }},
      {"virtual_stages", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::virtual_stages, s); }},
      {"reshard_after_forward", [](const YamlNode& v, SoftwareFile& s) { read_admitted(v, PlanChoice::reshard, s); }},
      {"secondary_shards", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::secondary_shards, s); }},
      {"recompute_blocks", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::recompute_blocks, s); }},
      {"recompute_modules", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::recompute_modules, s); }},
      {"offloads", [](const YamlNode& v, SoftwareFile& s) { read_admitted(v, PlanChoice::offload, s); }},
      {"offloads_activations", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::offload_activations, s); }},
      {"whole_experts", [](const YamlNode& v, SoftwareFile& s) { read_has(v, PlanChoice::experts, s); }},
      {"context_exchanges", [](const YamlNode& v, SoftwareFile& s) { read_admitted(v, PlanChoice::context_exchange, s); }},
  };
  return keys;
}

SoftwareFile read_file_at(const YamlNode& root, int depth);

/// The file behind `extends:`: a bundled name, or a path from the folder of the file that names it.
SoftwareFile base_of(const YamlNode& node, int depth) {
  const std::string name = node.name();
  if (depth >= most_software_files) node.fail("files extend each other in a circle", "let one of them stand alone");
  if (!is_path(name)) {
    const auto files = software_files();
    const auto same = [&](const EmbeddedFile& file) { return name_key(file.name) == name_key(name); };
    const auto found = std::find_if(files.begin(), files.end(), same);
    if (found == files.end())
      node.fail(fmt::format("no software is called {}", quote(name)), suggest(name, software_names()));
    return read_file_at(YamlNode::parse(std::string(found->content), std::string(found->path)), depth + 1);
  }
  const std::filesystem::path path = std::filesystem::path(node.origin()).parent_path() / name;
  return read_file_at(YamlNode::load(path.string()), depth + 1);
}

SoftwareFile read_file_at(const YamlNode& root, int depth) {
  check_format(root);
  std::vector<std::string_view> keys{"format", "software", "description", "extends", "sources"};
  for (const RecipeKey& each : recipe_keys()) keys.push_back(each.key);
  for (const SoftwareKey& each : software_keys()) {
    if (each.is_general) keys.push_back(each.key);
  }
  root.only_keys(keys);
  const auto extends = root.find("extends");
  SoftwareFile software = extends ? base_of(*extends, depth) : SoftwareFile{};
  software.name = root.at("software").name();
  if (software.name == no_software) root.at("software").fail("'none' stands for no software", "take another name");
  software.facts.name = software.name;
  software.description = root.at("description").text();
  const auto sources = root.find("sources");
  const Citations citations = sources ? Citations(*sources) : Citations();
  const auto note = [&](std::string_view key, const SourcedNode& entry) {
    auto& lines = software.lines;
    const auto same = [&](const SoftwareFile::Line& line) { return line.key == key; };
    lines.erase(std::remove_if(lines.begin(), lines.end(), same), lines.end());
    lines.push_back({std::string(key), entry.value.text(), entry.source});
  };
  for (const RecipeKey& each : recipe_keys()) {
    const auto entry = root.find(each.key);
    if (!entry) continue;
    const SourcedNode sourced = citations.read(*entry);
    each.read(sourced.value, software);
    note(each.key, sourced);
  }
  for (const SoftwareKey& each : software_keys()) {
    const auto entry = each.is_general ? root.find(each.key) : std::nullopt;
    if (!entry) continue;
    const SourcedNode sourced = citations.read(*entry);
    each.read(sourced.value, software.facts);
    note(each.key, sourced);
  }
  return software;
}

}  // namespace

std::vector<std::string> software_names() { return names_of(software_files()); }

SoftwareFile load_software(const std::string& name_or_path) {
  if (is_path(name_or_path)) return read_file_at(YamlNode::load(name_or_path), 1);
  const EmbeddedFile& file = find_bundled(software_files(), name_or_path, "software", "yaml");
  return parse_software(std::string(file.content), std::string(file.path));
}

SoftwareFile parse_software(std::string text, std::string origin) {
  return read_file_at(YamlNode::parse(std::move(text), std::move(origin)), 1);
}

}  // namespace ddl
