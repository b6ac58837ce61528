#include "model_zoo/files/dataset.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/bundled_yaml.hpp"
#include "core/embedded.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/operations/sample_shape.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

// This function is generated from the files in datasets/.
std::span<const EmbeddedFile> bundled_datasets();

namespace {

constexpr std::int64_t most_pixels = 1'000'000'000'000;

Dataset read_dataset(const YamlNode& root) {
  root.only_keys({"format", "dataset", "description", "source", "samples", "sample", "samples_per_file", "size_on_disk",
                  "image_pixels", "task"});
  check_format(root);
  Dataset dataset;
  dataset.name = root.at("dataset").name();
  if (const auto description = root.find("description")) dataset.description = description->text();
  if (const auto source = root.find("source")) dataset.source = source->text();
  dataset.samples = root.at("samples").integer(1, max_items);
  dataset.sample = read_sample_shape(root.at("sample"), Parameters());
  if (const auto each = root.find("samples_per_file")) dataset.samples_per_file = each->integer(1, dataset.samples);
  if (const auto pixels = root.find("image_pixels")) {
    if (dataset.sample.sequence || dataset.sample.rank != 2)
      pixels->fail("samples of this data set are not images", "only images with rows and columns are encoded");
    dataset.image_pixels = pixels->integer(1, most_pixels);
  }
  if (const auto task = root.find("task")) {
    const std::vector<std::string> kinds = model_kinds();
    if (std::find(kinds.begin(), kinds.end(), task->name()) == kinds.end())
      task->fail(fmt::format("unknown kind of model {}", quote(task->name())), suggest(task->name(), kinds));
    dataset.task = task->name();
  }
  dataset.size_on_disk = root.at("size_on_disk").bytes();
  return dataset;
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : bundled_datasets()) names.emplace_back(file.name);
  return names;
}

Dataset load_dataset(const std::string& name) {
  if (is_path(name)) return read_dataset(YamlNode::load(name));
  const std::string key = name_key(name);
  for (const EmbeddedFile& file : bundled_datasets()) {
    if (name_key(file.name) == key) return read_dataset(bundled_yaml(file));
  }
  throw Error(fmt::format("unknown data set {}", quote(name)), suggest(name, dataset_names()));
}

Dataset parse_dataset(std::string text, std::string origin) {
  return read_dataset(YamlNode::parse(std::move(text), std::move(origin)));
}

}  // namespace ddl
