#include "model_zoo/files/model_reader.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/network/parameter_words.hpp"
#include "model_zoo/operations/sample_shape.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// The maximum number of items that are expanded, including items that add no layer.
constexpr std::size_t max_steps = 10 * std::size_t{max_layers};
/// Evaluating this many letters, or comparing them with names, takes about as long as expanding one item.
constexpr std::size_t letters_per_step = 20;
constexpr int model_input = -1;
/// The index of the output of a part of the network that is not complete yet.
constexpr int unfinished = -2;

/// One element of the path that makes up a layer's full name.
struct Scope {
  std::string prefix;  ///< path up to this element, such as `stage1.bottleneck0.`
  const Scope* enclosing = nullptr;
  std::vector<std::pair<std::string, int>> counters;

  int& counter(std::string_view stem) {
    const auto found =
        std::find_if(counters.begin(), counters.end(), [stem](const auto& entry) { return entry.first == stem; });
    if (found != counters.end()) return found->second;
    return counters.emplace_back(stem, 0).second;
  }
};

/// The context in which an item is expanded.
struct Context {
  const Parameters* parameters;
  Scope* scope;
  int block = -1;
  int depth = 0;
  bool auxiliary = false;
};

/// An error: `from` or `tied` names a layer that is not among the earlier layers.
struct UnknownLayer {
  YamlNode place;
  std::vector<std::string> candidates;  ///< full names to which the text at `place` could refer
};

class Expander {
 public:
  /// With `probing`, sizes are ignored, and only names are determined.
  Expander(const ModelFile& definition, const Parameters& parameters, Model& model, bool probing)
      : definition_(definition), parameters_(parameters), model_(model), probing_(probing) {}

  void run() {
    Scope scope;
    const Context context{.parameters = &parameters_, .scope = &scope};
    expand_list(definition_.layers, model_input, context);
    model_.shape_classes = static_cast<int>(representatives_.size());
  }

  [[nodiscard]] bool knows(const std::string& name) const { return names_.contains(name); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Layer& layer : model_.layers) result.push_back(layer.name);
    return result;
  }

 private:
  // Each of the following functions returns the tensor that the next layer reads.

  int expand_list(const std::vector<ModelItem>& items, int input, const Context& context) {
    for (const ModelItem& item : items) input = expand(item, input, context);
    return input;
  }

  int expand(const ModelItem& item, int previous, Context context) {
    take_steps(item.place, 1 + item.from.size() + item.lists.size(), item.letters + context.scope->prefix.size());
    // The condition is evaluated first: a skipped item may read layers that were skipped, too.
    const bool asks_channels = item.condition && item.condition->text().find(channels_parameter) != std::string::npos;
    if (item.condition && !asks_channels && !is_met(*item.condition, std::nullopt, context)) return previous;
    inputs_.clear();
    for (const YamlNode& from : item.from) inputs_.push_back(resolve(from, from.text(), *context.scope));
    if (inputs_.empty()) inputs_.push_back(item.operation != nullptr && item.operation->of_sample ? model_input : previous);
    const int input = inputs_.front();
    if (asks_channels && !is_met(*item.condition, shape(input).channels, context)) return previous;
    context.auxiliary = context.auxiliary || item.auxiliary;
    if (item.kind == ModelItem::Kind::operation) {
      return add_layer(item, item.attributes, layer_name(item, context), context);
    }
    if (context.depth == max_nesting) item.place.fail(fmt::format("nested deeper than {} levels", max_nesting));
    Context inner = context;
    ++inner.depth;
    if (item.kind == ModelItem::Kind::repeat) return expand_repeat(item, input, inner);
    if (item.kind == ModelItem::Kind::block) return expand_block(item, input, inner);
    if (item.kind == ModelItem::Kind::pattern) return expand_pattern(item, input, inner);
    if (!item.name) return expand_branches(item, input, inner);
    Scope scope = open(context, item.name->text(), &*item.name);
    inner.scope = &scope;
    return close(scope, expand_branches(item, input, inner));
  }

  /// Throws Error if the file expands to more items than the limit.
  void take_steps(const YamlNode& place, std::size_t steps, std::size_t letters) {
    steps_ += steps + letters / letters_per_step;
    if (steps_ > max_steps) place.fail(fmt::format("the model expands to more than {} steps", max_steps));
  }

  int expand_repeat(const ModelItem& item, int input, Context context) {
    const std::int64_t times = integer_at(*item.count, *context.parameters, shape(input).channels, 0, max_repeat);
    Scope* const enclosing = context.scope;
    for (std::int64_t round = 0; round < times; ++round) {
      if (!item.name) {
        input = expand_list(item.lists.front(), input, context);
        continue;
      }
      context.scope = enclosing;
      Scope scope = open(context, fmt::format("{}{}", item.name->text(), round), &*item.name);
      context.scope = &scope;
      input = close(scope, expand_list(item.lists.front(), input, context));
    }
    return input;
  }

  int expand_pattern(const ModelItem& item, int input, Context context) {
    Scope scope;
    if (item.name) {
      scope = open(context, item.name->text(), &*item.name);
      context.scope = &scope;
    }
    for (const char letter : letters_at(*item.text, evaluate_at(*item.text, *context.parameters, std::nullopt).text)) {
      const std::size_t list = item.letters_listed.find(letter);
      if (list == std::string::npos) {
        item.text->fail(fmt::format("the pattern has the letter {}, which is not defined", quote({&letter, 1})),
                        fmt::format("the defined letters are {}", fmt::join(item.letters_listed, " ")));
      }
      input = expand_list(item.lists[list], input, context);
    }
    return item.name ? close(scope, input) : input;
  }

  static std::string letters_at(const YamlNode& place, std::string_view pattern) {
    try {
      return pattern_letters(pattern);
    } catch (const Error& error) {
      place.fail(error.what(), error.hint());
    }
  }

  int expand_branches(const ModelItem& item, int input, Context context) {
    if (item.kind == ModelItem::Kind::residual && context.block < 0) context.block = model_.blocks++;
    std::vector<int> outputs;
    outputs.reserve(item.lists.size());
    for (const std::vector<ModelItem>& list : item.lists) outputs.push_back(expand_list(list, input, context));
    inputs_ = std::move(outputs);
    return add_layer(item, std::nullopt, next_name(item.operation->key, *context.scope), context);
  }

  int expand_block(const ModelItem& item, int input, Context context) {
    const ModelBlock& block = find_block(item, *context.parameters);
    const std::string block_name = block.name.text();
    if (std::find(blocks_in_use_.begin(), blocks_in_use_.end(), block_name) != blocks_in_use_.end()) {
      item.block->fail(fmt::format("the block {} uses itself: {} -> {}", quote(block_name),
                                   fmt::join(blocks_in_use_, " -> "), block_name),
                       "a block may contain other blocks, but not itself");
    }
    // Blocks are searched linearly by name, and so are the parameters of a block for each argument.
    take_steps(*item.block, 0, block.letters + item.arguments.size() * block.parameters.size() + definition_.blocks.size());
    const Parameters parameters = arguments_of(item, block, input, context);
    Scope scope = open(context, item.name ? item.name->text() : next_step(block_name, *context.scope),
                       item.name ? &*item.name : nullptr);
    context.parameters = &parameters;
    context.scope = &scope;
    if (block.checkpoint && context.block < 0) context.block = model_.blocks++;
    blocks_in_use_.push_back(block_name);
    const int output = expand_list(block.layers, input, context);
    blocks_in_use_.pop_back();
    return close(scope, output);
  }

  [[nodiscard]] const ModelBlock& find_block(const ModelItem& item, const Parameters& parameters) const {
    const std::string name = evaluate_at(*item.block, parameters, std::nullopt).text;
    if (const ModelBlock* const block = definition_.find_block(name)) return *block;
    std::vector<std::string> known;
    for (const ModelBlock& block : definition_.blocks) known.push_back(block.name.text());
    item.block->fail(fmt::format("unknown block {}", quote(name)), suggest(name, known));
  }

  Parameters arguments_of(const ModelItem& item, const ModelBlock& block, int input, const Context& context) const {
    Parameters parameters(&parameters_);
    const std::int64_t channels = shape(input).channels;
    for (const auto& [name, value] : item.arguments) {
      const std::string text = name.text();
      const auto declared = [&text](const ModelParameter& parameter) { return parameter.name.text() == text; };
      if (std::none_of(block.parameters.begin(), block.parameters.end(), declared)) {
        std::vector<std::string> known;
        for (const ModelParameter& parameter : block.parameters) known.push_back(parameter.name.text());
        name.fail(fmt::format("the block {} has no parameter {}", quote(block.name.text()), quote(text)),
                  suggest(text, known));
      }
    }
    for (const ModelParameter& parameter : block.parameters) {
      const std::string name = parameter.name.text();
      const auto given = std::find_if(item.arguments.begin(), item.arguments.end(),
                                      [&name](const auto& argument) { return argument.first.text() == name; });
      if (given != item.arguments.end()) {
        parameters.set(name, evaluate_at(given->second, *context.parameters, channels));
      } else if (parameter.value) {
        parameters.set(name, evaluate_at(*parameter.value, parameters, channels));
      } else {
        item.block->fail(fmt::format("the block {} needs {}", quote(block.name.text()), quote(name)));
      }
    }
    return parameters;
  }

  /// Adds the layer of an operation that reads `inputs_`.
  int add_layer(const ModelItem& item, const std::optional<YamlNode>& attribute_node, std::string name,
                const Context& context) {
    if (static_cast<int>(model_.layers.size()) == max_layers) {
      item.place.fail(fmt::format("the model has more than {} layers", max_layers));
    }
    Layer layer;
    layer.inputs = inputs_;
    for (const int input : layer.inputs) layer.input_shapes.push_back(shape(input));
    layer.block = context.block;
    layer.auxiliary = context.auxiliary;
    const Attributes attributes(item.place, attribute_node, item.operation->main_attribute, *context.parameters,
                                layer.input_shapes, context.scope->prefix);
    if (probing_) {
      probe(item, attributes, layer);
    } else {
      layer.operation = item.operation->read(attributes);
    }
    const std::string_view stem = layer.operation ? layer.operation->short_name() : item.operation->key;
    layer.name = name.empty() ? next_name(stem, *context.scope) : std::move(name);
    if (!probing_) {
      infer(item, layer);
      if (const auto tied = attributes.find_text("tied")) tie(item, *tied, layer, *context.scope);
      classify(layer);
    }
    const int index = static_cast<int>(model_.layers.size());
    names_.emplace(layer.name, index);
    lines_.push_back(item.place.line());
    model_.layers.push_back(std::move(layer));
    return index;
  }

  static void probe(const ModelItem& item, const Attributes& attributes, Layer& layer) {
    try {
      layer.operation = item.operation->read(attributes);
      layer.output_shape = layer.operation->infer(layer.input_shapes);
    } catch (const Error&) {
      // While probing, an invalid layer is ignored.
      layer.output_shape = layer.input_shapes.front();
    }
  }

  void infer(const ModelItem& item, Layer& layer) {
    try {
      layer.output_shape = layer.operation->infer(layer.input_shapes);
    } catch (const Error& error) {
      std::string message = fmt::format("layer '{}': {}", layer.name, error.what());
      if (layer.inputs.size() > 1) {
        std::vector<std::string> producers;
        for (const int input : layer.inputs) producers.push_back(fmt::format("'{}'", name_of(input)));
        message += fmt::format(" (it reads {})", fmt::join(producers, ", "));
      }
      item.place.fail(message, error.hint());
    }
    layer.weights = layer.operation->weights(layer.input_shapes, layer.output_shape);
    layer.biases = layer.operation->biases(layer.input_shapes, layer.output_shape);
    layer.buffers = layer.operation->buffers(layer.input_shapes, layer.output_shape);
    layer.frozen = layer.operation->frozen(layer.input_shapes, layer.output_shape);
    trainable_ += layer.parameters();
    if (trainable_ > max_items) item.place.fail("the model has more than 2^53 parameters");
  }

  void tie(const ModelItem& item, const std::string& name, Layer& layer, const Scope& scope) {
    const YamlNode place = item.attributes->at("tied");
    const int source = resolve(place, name, scope);
    const SharedTable table = layer.operation->shared_table(layer.input_shapes, layer.output_shape);
    const auto refuse = [&](const std::string& why) {
      place.fail(fmt::format("layer '{}' cannot share the weights of {}: {}", layer.name, quote(name), why),
                 table.owner == "embedding"
                     ? "'tied' must name an embedding with matching vocabulary and features"
                     : fmt::format("'tied' must name a layer of {} with a table of the same size", table.owner));
    };
    if (source == model_input) refuse("the model's input has no weights");
    const Layer& owner = model_.layers[static_cast<std::size_t>(source)];
    const bool is_of_kind = owner.operation->type() == layer.operation->type() && owner.operation->experts() == 1;
    if (owner.operation->type() != table.owner && !is_of_kind) {
      refuse(fmt::format("the owner of the weights is not {} but {}", table.owner, owner.operation->type()));
    }
    const SharedTable owned = owner.operation->shared_table(owner.input_shapes, owner.output_shape);
    if (owned.rows != table.rows || owned.columns != table.columns) {
      refuse(fmt::format("the owner's table is {} × {}, not {} × {}", owned.rows, owned.columns, table.rows, table.columns));
    }
    if (owner.tied_to >= 0) refuse("the owner's weights are already shared with another layer");
    layer.tied_to = source;
  }

  /// Assigns the layer to a class. Layers of one class share one Operation object.
  void classify(Layer& layer) {
    key_.assign(layer.operation->type());
    key_ += '|';
    key_ += layer.operation->attributes();
    for (const TensorShape& input : layer.input_shapes) {
      const std::array<std::int64_t, 5> sizes{input.channels, input.extent[0], input.extent[1], input.extent[2],
                                              input.rank * 2 + (input.sequence ? 1 : 0)};
      key_.append(reinterpret_cast<const char*>(sizes.data()), sizeof sizes);
    }
    const auto [entry, is_new] = classes_.try_emplace(key_, static_cast<int>(representatives_.size()));
    if (is_new) representatives_.push_back(layer.operation);
    layer.shape_class = entry->second;
    layer.operation = representatives_[static_cast<std::size_t>(entry->second)];
  }

  [[nodiscard]] static bool is_met(const YamlNode& condition, std::optional<std::int64_t> channels, const Context& context) {
    try {
      return evaluate_condition(condition.text(), *context.parameters, channels);
    } catch (const Error& error) {
      condition.fail(error.what(), error.hint());
    }
  }

  /// Returns the full name of a layer if its item has a name; else empty.
  std::string layer_name(const ModelItem& item, const Context& context) const {
    if (!item.name) return {};
    std::string name = context.scope->prefix + item.name->text();
    require_new(name, *item.name);
    return name;
  }

  /// Returns the next unused name of a layer: conv1, conv2, …
  std::string next_name(std::string_view stem, Scope& scope) {
    int& counter = scope.counter(stem);
    std::string name;
    do {
      name = fmt::format("{}{}{}", scope.prefix, stem, ++counter);
    } while (names_.contains(name));
    return name;
  }

  /// Returns the next unused name of a part of the network: bottleneck0, bottleneck1, …
  std::string next_step(std::string_view stem, Scope& scope) const {
    int& counter = scope.counter(stem);
    std::string step;
    do {
      step = fmt::format("{}{}", stem, counter++);
    } while (names_.contains(scope.prefix + step));
    return step;
  }

  void require_new(const std::string& name, const YamlNode& place) const {
    const auto found = names_.find(name);
    if (found == names_.end()) return;
    const std::string where =
        found->second >= 0 ? fmt::format(", the other at line {}", lines_[static_cast<std::size_t>(found->second)]) : "";
    place.fail(fmt::format("two layers are named '{}'{}", name, where),
               "leave the name out, or name the enclosing 'repeat' or 'block'");
  }

  Scope open(const Context& context, const std::string& step, const YamlNode* place) {
    std::string path = context.scope->prefix + step;
    if (place != nullptr) require_new(path, *place);
    names_.emplace(path, unfinished);
    return {.prefix = std::move(path) + '.', .enclosing = context.scope, .counters = {}};
  }

  int close(const Scope& scope, int output) {
    names_[scope.prefix.substr(0, scope.prefix.size() - 1)] = output;
    return output;
  }

  /// Returns the tensor that a name refers to in a scope.
  [[nodiscard]] int resolve(const YamlNode& place, const std::string& name, const Scope& scope) {
    if (name == "input") return model_input;
    std::vector<std::string> candidates;
    std::size_t letters = 0;
    for (const Scope* at = &scope; at != nullptr; at = at->enclosing) {
      candidates.push_back(at->prefix + name);
      letters += candidates.back().size();
      const auto found = names_.find(candidates.back());
      if (found == names_.end()) continue;
      if (found->second == unfinished) {
        place.fail(fmt::format("{} contains this layer: this would be a cycle", quote(name)),
                   "a layer can only read layers before it");
      }
      take_steps(place, 0, letters);
      return found->second;
    }
    take_steps(place, 0, letters);
    if (probing_) return static_cast<int>(model_.layers.size()) - 1;
    throw UnknownLayer{.place = place, .candidates = std::move(candidates)};
  }

  [[nodiscard]] const TensorShape& shape(int index) const { return shape_of(model_, index); }
  [[nodiscard]] std::string name_of(int index) const {
    return index == model_input ? "input" : model_.layers[static_cast<std::size_t>(index)].name;
  }

  const ModelFile& definition_;
  const Parameters& parameters_;  ///< parameters that are visible in every block
  Model& model_;
  bool probing_;
  std::size_t steps_ = 0;
  std::int64_t trainable_ = 0;
  std::vector<int> inputs_;  ///< tensors that the current item reads
  std::vector<int> lines_;
  std::vector<std::string> blocks_in_use_;
  std::unordered_map<std::string, int> names_;
  std::unordered_map<std::string, int> classes_;
  std::vector<std::shared_ptr<const Operation>> representatives_;
  std::string key_;
};

/// Returns the parameters of the definition, with the values that the model gives.
Parameters parameters_of(const ModelFile& file, const ModelFile& definition) {
  Parameters given;
  for (const ModelParameter& parameter : file.parameters) {
    if (!parameter.value) parameter.name.fail(fmt::format("the parameter {} has no value", quote(parameter.name.text())));
    given.set(parameter.name.text(), evaluate_at(*parameter.value, given, std::nullopt));
  }
  if (&file == &definition) return given;

  std::vector<std::string> known;
  for (const ModelParameter& parameter : definition.parameters) known.push_back(parameter.name.text());
  for (const ModelParameter& parameter : file.parameters) {
    const std::string name = parameter.name.text();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    parameter.name.fail(fmt::format("the family {} has no parameter {}", quote(file.family->text()), quote(name)),
                        suggest_parameter(name, known));
  }
  Parameters all;
  for (const ModelParameter& parameter : definition.parameters) {
    const std::string name = parameter.name.text();
    if (const Value* const value = given.find(name)) {
      all.set(name, *value);
    } else if (parameter.value) {
      all.set(name, evaluate_at(*parameter.value, all, std::nullopt));
    } else {
      file.family->fail(fmt::format("the family {} needs the parameter {}", quote(file.family->text()), quote(name)),
                        fmt::format("add 'parameters: {{{}: ...}}'", name));
    }
  }
  return all;
}

/// Throws Error for an unknown layer. Expands the rest of the file to find out whether the layer comes later.
[[noreturn]] void explain(const UnknownLayer& unknown, const ModelFile& definition, const Model& header,
                          const Parameters& parameters) {
  Model probe = header;
  Expander expander(definition, parameters, probe, true);
  const auto names_read = [&expander] {
    try {
      expander.run();
    } catch (const Error&) {
      // Other errors in the file are ignored, because the names found before the error are sufficient.
      return expander.names();
    }
    return expander.names();
  };
  const std::vector<std::string> names = names_read();
  for (const std::string& candidate : unknown.candidates) {
    if (!expander.knows(candidate)) continue;
    unknown.place.fail(fmt::format("the layer '{}' comes later: this would be a cycle", candidate),
                       "a layer can only read layers before it");
  }
  unknown.place.fail(fmt::format("unknown layer {}", quote(unknown.place.text())), suggest(unknown.place.text(), names));
}

void expand(const ModelFile& file, const ModelFile& definition, Model& model) {
  const Parameters parameters = parameters_of(file, definition);
  if (&file != &definition) {
    model.family = file.family->text();
    for (const ModelParameter& parameter : definition.parameters) {
      const std::string name = parameter.name.text();
      model.family_parameters.emplace_back(name, parameters.find(name)->text);
    }
  }
  const bool own_input = file.input.has_value();
  if (!own_input && !definition.input) static_cast<void>(file.root.at("input"));
  model.input = own_input ? read_sample_shape(*file.input, parameters) : read_sample_shape(*definition.input, parameters);
  if (model.input.sequence) model.sequence_length = model.input.extent[0];
  const Model header = model;
  try {
    Expander(definition, parameters, model, false).run();
  } catch (const UnknownLayer& unknown) {
    explain(unknown, definition, header, parameters);
  }
  if (model.layers.empty()) definition.root.at("layers").fail("the model has no layers: conditions exclude all");
}

}  // namespace

Model build_model(const ModelFile& file, const ModelFile* family) {
  Model model;
  model.name = file.model->text();
  const ModelFile& definition = family != nullptr ? *family : file;
  model.description = file.description.empty() ? definition.description : file.description;
  model.source = file.source.empty() ? definition.source : file.source;
  model.usual_batch = file.batch ? file.batch : definition.batch;
  expand(file, definition, model);
  return model;
}

}  // namespace ddl
