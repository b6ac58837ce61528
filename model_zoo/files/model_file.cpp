#include "model_zoo/files/model_file.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

// The limits in this file are far above what a person writes, but files within the limits are
// processed fast. This one limits the usual number of samples per device in a model file.
constexpr std::int64_t most_usual_batch = std::int64_t{1} << 20;
constexpr std::size_t max_parameters = 200;
constexpr std::size_t max_blocks = 1000;
constexpr std::size_t max_value_length = 1000;

constexpr std::array<std::string_view, 4> common_keys{"name", "from", "when", "auxiliary"};
constexpr std::array<std::string_view, 4> container_keys{"block", "pattern", "repeat", "residual"};

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool joins_branches(std::string_view key) { return key == "add" || key == "concat" || key == "multiply"; }

/// Throws Error unless a name of a layer, block or parameter consists of letters, digits, `_` and `-`.
void check_name(const YamlNode& node, std::string_view what) {
  const std::string name = node.text();
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (name.size() > max_model_name_length)
    node.fail(fmt::format("a name of more than {} characters", max_model_name_length));
  if (!plain)
    node.fail(fmt::format("{} is not a valid name of a {}", quote(name), what), "a name has letters, digits, '_' and '-'");
}

/// Throws Error if a parameter's name contains '-', which means subtraction in expressions.
void check_parameter_name(const YamlNode& node) {
  check_name(node, "parameter");
  const std::string name = node.text();
  if (name.find('-') != std::string::npos || (name.front() >= '0' && name.front() <= '9')) {
    node.fail(fmt::format("{} is not a valid name of a parameter", quote(name)),
              "a parameter's name has letters, digits and '_'");
  }
  if (name == channels_parameter) {
    node.fail("the parameter 'channels' is reserved for the channels of a layer's input", "choose another name");
  }
}

void check_expression_at(const YamlNode& node, const Parameters& parameters) {
  try {
    check_expression(node.text(), parameters);
  } catch (const Error& error) {
    node.fail(error.what(), error.hint());
  }
}

void check_value(const YamlNode& node, const Parameters& parameters) {
  const std::string text = node.text();
  if (text.size() > max_value_length) node.fail(fmt::format("a value of more than {} characters", max_value_length));
  if (is_expression(text)) check_expression_at(node, parameters);
}

std::size_t letters_of(const std::optional<YamlNode>& node) { return node && node->is_scalar() ? node->text().size() : 0; }

std::size_t letters_of(const ModelItem& item) {
  std::size_t letters = letters_of(item.condition) + letters_of(item.attributes) + letters_of(item.count) +
                        letters_of(item.block) + letters_of(item.text);
  if (item.attributes && item.attributes->is_map()) {
    for (const auto& [name, attribute] : item.attributes->entries()) letters += letters_of(attribute);
  }
  for (const auto& [name, argument] : item.arguments) letters += letters_of(argument);
  return letters;
}

/// Reads lists of layers. `parameters` contains the visible parameters; their values do not matter.
class ItemReader {
 public:
  explicit ItemReader(const Parameters& parameters) : parameters_(parameters) {}

  std::vector<ModelItem> read_list(const YamlNode& node) const {
    if (!node.is_sequence()) {
      node.fail(fmt::format("expected a list of layers, found {}", node.kind()), "write one '- operation: ...' per line");
    }
    std::vector<ModelItem> items;
    const std::vector<YamlNode> nodes = node.items();
    items.reserve(nodes.size());
    for (const YamlNode& item : nodes) items.push_back(read_item(item));
    return items;
  }

  std::vector<ModelItem> read_filled_list(const YamlNode& node) const {
    std::vector<ModelItem> items = read_list(node);
    if (items.empty())
      node.fail("this list of layers is empty", "write one operation per line: - convolution: {filters: 64, kernel: 3}");
    return items;
  }

 private:
  ModelItem read_item(const YamlNode& node) const {
    if (node.is_scalar()) return read_kind(node, std::nullopt);
    if (!node.is_map()) {
      node.fail(fmt::format("expected a layer, found {}", node.kind()),
                "use for example '- convolution: {filters: 64, kernel: 3}'");
    }
    const std::vector<std::pair<YamlNode, YamlNode>> entries = node.entries();
    std::optional<ModelItem> item;
    for (const auto& [key, value] : entries) {
      if (contains(common_keys, key.text())) continue;
      if (item) {
        key.fail(fmt::format("a layer has a single operation: {} or {}", quote(item->place.text()), quote(key.text())),
                 "start each layer with its own '-'");
      }
      item = read_kind(key, value);
    }
    if (!item) node.fail("this layer has no operation", "use for example '- convolution: {filters: 64, kernel: 3}'");
    read_common(node, *item);
    return std::move(*item);
  }

  void read_common(const YamlNode& node, ModelItem& item) const {
    if (const auto name = node.find("name")) {
      check_name(*name, "layer");
      if (name->text() == "input") name->fail("'input' is the name of the model's input", "choose another name");
      item.name = name;
    }
    if (const auto from = node.find("from")) {
      item.from = from->is_sequence() ? from->items() : std::vector<YamlNode>{*from};
      if (item.from.empty()) from->fail("'from' does not name a layer");
      for (const YamlNode& layer : item.from) static_cast<void>(layer.text());
      if (item.kind != ModelItem::Kind::operation && item.from.size() > 1) {
        item.from[1].fail(fmt::format("{} reads one tensor", item.place.text()));
      }
      if (item.operation != nullptr && item.operation->of_sample) {
        from->fail(fmt::format("{} is part of the sample and cannot have inputs", item.place.text()), "leave 'from' out");
      }
    }
    if (const auto condition = node.find("when")) {
      check_expression_at(*condition, parameters_);
      item.condition = condition;
    }
    if (const auto auxiliary = node.find("auxiliary")) item.auxiliary = auxiliary->boolean();
    item.letters = letters_of(item);
  }

  ModelItem read_kind(const YamlNode& key, const std::optional<YamlNode>& value) const {
    const std::string word = key.text();
    ModelItem item{.kind = ModelItem::Kind::operation, .place = key};
    if (word == "repeat") {
      read_repeat(content(key, value), item);
    } else if (word == "pattern") {
      read_pattern(content(key, value), item);
    } else if (word == "residual") {
      read_residual(content(key, value), item);
    } else if (word == "block") {
      read_block(content(key, value), item);
    } else if (joins_branches(word) && value && value->is_map() && value->find("branches")) {
      item.operation = find_operation_kind(word);
      read_branches(*value, item);
    } else {
      read_operation(key, value, item);
    }
    return item;
  }

  static YamlNode content(const YamlNode& key, const std::optional<YamlNode>& value) {
    if (!value || value->is_null()) key.fail(fmt::format("{} needs a value", quote(key.text())));
    return *value;
  }

  void read_repeat(const YamlNode& value, ModelItem& item) const {
    value.only_keys({"times", "layers"});
    item.kind = ModelItem::Kind::repeat;
    item.count = value.at("times");
    check_value(*item.count, parameters_);
    item.lists.push_back(read_filled_list(value.at("layers")));
  }

  void read_pattern(const YamlNode& value, ModelItem& item) const {
    item.kind = ModelItem::Kind::pattern;
    item.text = value.at("of");
    check_value(*item.text, parameters_);
    for (const auto& [key, list] : value.entries()) {
      const std::string letter = key.text();
      if (letter == "of") continue;
      if (letter.size() != 1) {
        key.fail(fmt::format("{} is not a letter of a pattern", quote(letter)),
                 "'of' is the pattern, and each other key is one letter: 'M: [...]'");
      }
      item.letters_listed += letter;
      item.lists.push_back(read_filled_list(list));
    }
    if (item.lists.empty())
      value.fail("a pattern needs a list of layers for each of its letters", "use for example 'M: [{block: mixer}]'");
  }

  void read_residual(const YamlNode& value, ModelItem& item) const {
    item.kind = ModelItem::Kind::residual;
    item.operation = find_operation_kind("add");
    if (value.is_sequence()) {
      item.lists.push_back(read_filled_list(value));
      item.lists.emplace_back();
      return;
    }
    value.only_keys({"body", "shortcut"});
    item.lists.push_back(read_filled_list(value.at("body")));
    const auto shortcut = value.find("shortcut");
    item.lists.push_back(shortcut ? read_list(*shortcut) : std::vector<ModelItem>{});
  }

  void read_branches(const YamlNode& value, ModelItem& item) const {
    value.only_keys({"branches"});
    item.kind = ModelItem::Kind::branches;
    const YamlNode branches = value.at("branches");
    for (const YamlNode& branch : branches.items()) item.lists.push_back(read_list(branch));
    if (item.lists.size() < 2) branches.fail(fmt::format("{} needs two or more branches", item.place.text()));
  }

  void read_block(const YamlNode& value, ModelItem& item) const {
    item.kind = ModelItem::Kind::block;
    if (value.is_scalar()) {
      item.block = value;
    } else {
      item.block = value.at("use");
      for (const auto& [name, argument] : value.entries()) {
        if (name.text() == "use") continue;
        check_value(argument, parameters_);
        item.arguments.emplace_back(name, argument);
      }
    }
    check_value(*item.block, parameters_);
  }

  void read_operation(const YamlNode& key, const std::optional<YamlNode>& value, ModelItem& item) const {
    const std::string word = key.text();
    item.operation = find_operation_kind(word);
    if (item.operation == nullptr) {
      std::vector<std::string_view> known(container_keys.begin(), container_keys.end());
      for (const OperationKind& kind : operation_kinds()) known.push_back(kind.key);
      key.fail(fmt::format("unknown operation {}", quote(word)), suggest(word, known));
    }
    if (!value || value->is_null()) return;
    item.attributes = value;
    if (value->is_map()) {
      value->only_keys(item.operation->attributes);
      for (const auto& [name, attribute] : value->entries()) check_value(attribute, parameters_);
      return;
    }
    if (!value->is_scalar()) value->fail(fmt::format("expected attributes of {}, found {}", word, value->kind()));
    if (item.operation->main_attribute.empty()) {
      if (item.operation->attributes.empty()) value->fail(fmt::format("{} has no attributes", word));
      value->fail(
          fmt::format("{} needs the names of its attributes", word),
          fmt::format("write its attributes in braces: '{}: {{{}: ...}}'", word, item.operation->attributes.front()));
    }
    check_value(*value, parameters_);
  }

  const Parameters& parameters_;
};

std::vector<ModelParameter> read_parameters(const YamlNode& node, Parameters& known) {
  std::vector<ModelParameter> parameters;
  for (const auto& [name, value] : node.entries()) {
    if (parameters.size() == max_parameters) name.fail(fmt::format("more than {} parameters", max_parameters));
    check_parameter_name(name);
    if (value.is_null()) {
      parameters.push_back({.name = name});
    } else {
      check_value(value, known);
      parameters.push_back({.name = name, .value = value});
    }
    known.set(name.text(), {});
  }
  return parameters;
}

ModelBlock read_block(const YamlNode& name, const YamlNode& node, const Parameters& enclosing) {
  check_name(name, "block");
  node.only_keys({"parameters", "checkpoint", "layers"});
  ModelBlock block{.name = name};
  Parameters known(&enclosing);
  if (const auto parameters = node.find("parameters")) {
    block.parameters = read_parameters(*parameters, known);
    for (const ModelParameter& parameter : block.parameters) {
      if (parameter.name.text() == "use") parameter.name.fail("a block's parameter cannot be named 'use'");
    }
  }
  if (const auto checkpoint = node.find("checkpoint")) block.checkpoint = checkpoint->boolean();
  for (const ModelParameter& parameter : block.parameters) block.letters += letters_of(parameter.value);
  block.layers = ItemReader(known).read_filled_list(node.at("layers"));
  return block;
}

/// Throws Error if a block that is used by name does not exist. A name that depends on a parameter cannot be checked.
void check_block_names(const ModelFile& file, const std::vector<ModelItem>& items) {
  for (const ModelItem& item : items) {
    for (const std::vector<ModelItem>& list : item.lists) check_block_names(file, list);
    if (!item.block || is_expression(item.block->text())) continue;
    const ModelBlock* const block = file.find_block(item.block->text());
    if (block == nullptr) {
      std::vector<std::string> known;
      for (const ModelBlock& other : file.blocks) known.push_back(other.name.text());
      item.block->fail(fmt::format("unknown block {}", quote(item.block->text())),
                       known.empty() ? "this file defines no 'blocks:'" : suggest(item.block->text(), known));
    }
  }
}

}  // namespace

ModelFile ModelFile::read(const YamlNode& root) {
  root.only_keys({"format", "model", "family", "aliases", "description", "source", "batch", "frozen", "input", "parameters",
                  "blocks", "layers"});
  check_format(root);
  ModelFile file{.root = root, .model = root.find("model"), .family = root.find("family")};
  if (!file.model && !file.family) static_cast<void>(root.at("model"));
  const auto text_of = [&root](std::string_view key) {
    const auto node = root.find(key);
    return node ? node->text() : std::string();
  };
  static_cast<void>((file.model ? *file.model : root.at("family")).name());
  file.description = text_of("description");
  file.source = text_of("source");
  if (const auto batch = root.find("batch")) file.batch = batch->integer(1, most_usual_batch);
  if (const auto frozen = root.find("frozen"); frozen && !file.model)
    frozen->fail("a family cannot have the key 'frozen'", "set it in each model");
  if (const auto aliases = root.find("aliases")) {
    for (const YamlNode& alias : aliases->items()) file.aliases.push_back(alias.text());
  }

  Parameters known;
  if (const auto parameters = root.find("parameters")) file.parameters = read_parameters(*parameters, known);
  file.input = root.find("input");
  if (file.input) {
    if (!file.input->is_map())
      file.input->fail(fmt::format("expected a map, found {}{}", file.input->is_sequence() ? "a " : "", file.input->kind()),
                       "write {channels: 3, size: 224x224}, {tokens: 1024} or {features: 100}");
    file.input->only_keys({"channels", "size", "tokens", "features"});
    for (const auto& [name, value] : file.input->entries()) check_value(value, known);
  }
  if (file.model && file.family) {
    for (const std::string_view key : {"blocks", "layers"}) {
      if (const auto node = root.find(key)) {
        node->fail(fmt::format("'{}' come from the family {}", key, quote(file.family->text())),
                   "a model of a family gives its 'parameters:' and 'input:'");
      }
    }
    return file;
  }
  if (const auto blocks = root.find("blocks")) {
    for (const auto& [name, node] : blocks->entries()) {
      if (file.blocks.size() == max_blocks) name.fail(fmt::format("more than {} blocks", max_blocks));
      file.blocks.push_back(read_block(name, node, known));
    }
  }
  file.layers = ItemReader(known).read_filled_list(root.at("layers"));
  for (const ModelBlock& block : file.blocks) check_block_names(file, block.layers);
  check_block_names(file, file.layers);
  return file;
}

const ModelBlock* ModelFile::find_block(std::string_view name) const {
  const auto found =
      std::find_if(blocks.begin(), blocks.end(), [name](const ModelBlock& block) { return block.name.text() == name; });
  return found == blocks.end() ? nullptr : &*found;
}

}  // namespace ddl
