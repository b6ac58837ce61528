#include "model_zoo/files/load_model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/bundled_yaml.hpp"
#include "core/embedded.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/changed_input.hpp"
#include "model_zoo/files/model_reader.hpp"
#include "model_zoo/files/onnx_file.hpp"
#include "model_zoo/files/published_names.hpp"
#include "model_zoo/files/unknown_model.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/packed_sequences.hpp"
#include "model_zoo/network/parameter_words.hpp"
#include "model_zoo/network/trained_parts.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

// This function is generated from the files in models/ and models/families/.
std::span<const EmbeddedFile> bundled_models();
std::span<const EmbeddedFile> bundled_families();

namespace {

const EmbeddedFile* find_file(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [name](const EmbeddedFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

struct FamilyFile {
  std::string origin;
  std::string content{};  ///< content of a user's file
  const EmbeddedFile* bundled = nullptr;

  [[nodiscard]] YamlNode parsed() const {
    return bundled != nullptr ? bundled_yaml(*bundled) : YamlNode::parse(content, origin);
  }
};

/// Returns the family that `file` names: a bundled family, or a family file at a path relative to `file`.
FamilyFile find_family(const ModelFile& file) {
  const std::string name = file.family->text();
  if (is_path(name)) {
    const std::string path = (std::filesystem::path(file.root.origin()).parent_path() / name).lexically_normal().string();
    try {
      return {.origin = path, .content = read_file(path, YamlNode::max_bytes)};
    } catch (const Error& error) {
      file.family->fail(error.what(), error.hint());
    }
  }
  if (const EmbeddedFile* const bundled = find_file(bundled_families(), name))
    return {.origin = std::string(bundled->path), .bundled = bundled};
  std::vector<std::string_view> known;
  for (const EmbeddedFile& family : bundled_families()) known.push_back(family.name);
  file.family->fail(fmt::format("unknown family {}", quote(name)), suggest(name, known));
}

/// A model's name, and values that override its parameters: `bert-large@tokens=128@layers=12`.
struct Variant {
  std::string name;
  std::string changes{};             ///< the part of the name from the first `@` on
  std::optional<YamlNode> values{};  ///< the values as a map, by parameter
};

Variant variant_of(const std::string& name);

/// Returns the variant of a bundled model that a name of timm with a tag means, `convnext_base.fb_in22k`; else nothing.
std::optional<Variant> variant_of_tag(const Variant& named) {
  const auto head = head_of_tag(named.name);
  if (!head || named.name.find('/') != std::string::npos) return std::nullopt;
  const std::string model = canonical_model_name(head->architecture);
  if (find_file(bundled_models(), model) == nullptr) return std::nullopt;
  const bool has_classes = named.values && named.values->find("classes");
  return variant_of(model + named.changes + (has_classes ? std::string() : fmt::format("@classes={}", head->classes)));
}

Variant variant_of(const std::string& name) {
  // The name of a folder may contain an `@` too.
  const std::size_t at = name.find('@', name.find_last_of('/') + 1);
  if (at == std::string::npos || name.find('=', at) == std::string::npos) return {name};
  std::string map;
  // An `@` at the end of the name counts as a change with an empty key.
  for (const char c : name.substr(at + 1) + (name.ends_with('@') ? ":" : ""))
    map += c == '=' ? ": " : (c == '@' ? "\n" : std::string(1, c));
  Variant variant{name.substr(0, at), name.substr(at)};
  try {
    variant.values = YamlNode::parse(map, name);
    for (const auto& [key, value] : variant.values->entries()) {
      static_cast<void>(key.text());
      static_cast<void>(value.text());
    }
  } catch (const Error&) {
    throw Error(fmt::format("{} has no parameter after '@'", quote(variant.changes)),
                "as in bert-large@tokens=128 or gpt2@tokens=512@layers=24");
  }
  return variant;
}

/// Keys in a model's name that select the trained parts of the model, independent of the model's parameters.
constexpr std::string_view adapter_key = "lora", adapted_key = "lora_layers", dropped_key = "lora_dropout",
                           kind_key = "adapter", trained_key = "trained", frozen_key = "frozen";
/// With this value of the key `frozen`, no layer is frozen, even if the model's file specifies frozen layers. With this
/// value of the key `trained`, no layer is trained.
constexpr std::string_view no_layers = "none";
constexpr std::int64_t most_adapter_rank = 65536;
constexpr double most_dropout = 0.99;

/// The key for the document length of packed sequences.
constexpr std::string_view packed_key = "packed";

/// The key for the sizes of a sample.
constexpr std::string_view input_key = "input";

bool is_of_any_model(std::string_view key) {
  return key == adapter_key || key == adapted_key || key == dropped_key || key == kind_key || key == trained_key ||
         key == frozen_key || key == packed_key;
}

/// Splits a list of layer names, such as `qkv+projection`.
std::vector<std::string> names_in(const YamlNode& node) {
  std::vector<std::string> names;
  const std::string text = node.text();
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find_first_of("+,", start);
    names.push_back(text.substr(start, end - start));
    if (names.back().empty())
      node.fail("the name of a layer is missing", "as in trained=head or lora_layers=qkv+projection");
    if (end == std::string::npos) return names;
    start = end + 1;
  }
}

/// Returns the trained parts that a model's name selects or, if the name selects none, the trained
/// parts that the model's file selects.
TrainedParts trained_parts_of(const YamlNode& root, const std::optional<YamlNode>& values) {
  TrainedParts parts;
  const auto find = [&values](std::string_view key) { return values ? values->find(key) : std::nullopt; };
  if (const auto rank = find(adapter_key)) parts.adapter_rank = rank->integer(1, most_adapter_rank);
  if (const auto adapted = find(adapted_key)) {
    if (!parts.adapter_rank) adapted->fail("lora_layers needs lora", "set the rank of the adapters: @lora=16");
    parts.adapted = names_in(*adapted);
  }
  if (const auto dropped = find(dropped_key)) {
    if (!parts.adapter_rank) dropped->fail("lora_dropout needs lora", "set the rank of the adapters: @lora=16");
    parts.drops_inputs = dropped->number(0, most_dropout) > 0;
  }
  if (const auto kind = find(kind_key)) {
    if (!parts.adapter_rank) kind->fail("adapter needs lora", "set the rank of the adapters: @lora=16");
    const auto known = parse_enum<AdapterKind>(kind->text());
    if (!known) kind->fail("unknown kind of adapters " + quote(kind->text()), "it is lora, dora, loha or lokr");
    parts.adapter_kind = *known;
  }
  if (const auto trained = find(trained_key)) {
    parts.none = trained->text() == no_layers && !parts.adapter_rank;
    if (!parts.none) parts.trained = names_in(*trained);
  }
  const auto frozen = find(frozen_key);
  if (frozen && !parts.is_all()) {
    frozen->fail("frozen cannot be combined with a key that selects trained layers",
                 "leave frozen out: with lora or trained, all other layers are frozen");
  }
  if (!parts.is_all() || (frozen && frozen->text() == no_layers)) return parts;
  if (const auto names = frozen ? frozen : root.find(frozen_key)) parts.frozen = names_in(*names);
  return parts;
}

/// Overrides parameters of the file, or adds parameters that the file does not have.
void change_parameters(ModelFile& file, const YamlNode& values) {
  for (const auto& [key, value] : values.entries()) {
    const auto same = [&name = key](const ModelParameter& one) { return one.name.text() == name.text(); };
    const auto found = std::find_if(file.parameters.begin(), file.parameters.end(), same);
    if (found != file.parameters.end()) {
      found->value = value;
    } else if (is_of_any_model(key.text()) || key.text() == input_key) {
      continue;
    } else if (file.family) {
      file.parameters.push_back({.name = key, .value = value});
    } else {
      std::vector<std::string> known;
      for (const ModelParameter& one : file.parameters) known.push_back(one.name.text());
      throw Error(fmt::format("{} has no parameter {}", file.model->text(), quote(key.text())),
                  known.empty() ? "the model has no parameters" : suggest_parameter(key.text(), known));
    }
  }
}

/// The name of the parameter for the number of tokens of a sample, in families and models.
constexpr std::string_view sequence_parameter = "tokens";

bool has_parameter(const ModelFile& file, std::string_view name) {
  return std::any_of(file.parameters.begin(), file.parameters.end(),
                     [name](const ModelParameter& one) { return one.name.text() == name; });
}

/// Throws Error if no parameter defines the sequence length of a sample.
void require_sequence(const ModelFile& file, const ModelFile* family) {
  if (has_parameter(file, sequence_parameter) || (family != nullptr && has_parameter(*family, sequence_parameter))) return;
  const bool has_tokens = file.input && file.input->find(sequence_parameter);
  throw Error(fmt::format("the sequence length of {} cannot be set", file.model->text()),
              has_tokens ? "add 'parameters: {tokens: ...}' and 'input: {tokens: $tokens}' to its file"
                         : "only sequence models have a sequence length, such as gpt2 or llama3-8b");
}

/// Throws Error for an input that layers in the model's file do not accept. `error`: the error in the file.
[[noreturn]] void refuse_sizes(const ModelFile& file, const YamlNode& sizes, const Error& error) {
  std::string names;
  for (const ModelParameter& each : file.parameters) names += (names.empty() ? "" : ", ") + each.name.text();
  const std::string message = error.what();
  sizes.fail(
      fmt::format("the layers of {} do not take this input: {}", file.model->text(), message.substr(0, message.find('\n'))),
      names.empty()
          ? "use sizes that the layers can divide"
          : fmt::format("set parameters that follow from the input, too, as in NAME@positions=400; known: {}", names));
}

/// Lists the parameters of a model, some of which the model's name changed.
std::string values_hint(const ModelFile& file) {
  std::vector<std::string> values;
  for (const ModelParameter& each : file.parameters) {
    if (each.value) values.push_back(fmt::format("{}={}", each.name.text(), each.value->text()));
  }
  return fmt::format("change dependent values together; the present values are {}", fmt::join(values, ", "));
}

/// Throws Error if a model has no block, but its family consists of blocks.
void require_blocks(const Model& model, const ModelFile& file, const ModelFile& family) {
  if (model.blocks > 0 || std::ranges::none_of(family.blocks, &ModelBlock::checkpoint)) return;
  const auto is_zero = [](const ModelParameter& each) { return each.value && each.value->text() == "0"; };
  const auto zero = std::ranges::find_if(file.parameters, is_zero);
  if (zero == file.parameters.end()) file.family->fail("the model has no blocks", "add at least one block");
  zero->value->fail("the model has no blocks", fmt::format("{} is at least 1", zero->name.text()));
}

Model read_model(const YamlNode& root, const std::optional<YamlNode>& values = {}, bool needs_sequence = false) {
  ModelFile file = ModelFile::read(root);
  if (!file.model) {
    file.family->fail("this file is a family, not a model",
                      "a model of a family has 'model: name', 'family: ...' and 'parameters:'");
  }
  if (needs_sequence && !file.family) require_sequence(file, nullptr);
  const auto sizes = values ? values->find(input_key) : std::nullopt;
  if (values && !file.family) change_parameters(file, *values);
  if (sizes && !file.family) change_input(file, file.input, *sizes, *values);
  if (!file.family) {
    try {
      return build_model(file, nullptr);
    } catch (const Error& error) {
      if (!sizes || !error.place() || error.place()->file != root.origin()) throw;
      refuse_sizes(file, *sizes, error);
    }
  }
  const FamilyFile source = find_family(file);
  try {
    const ModelFile family = ModelFile::read(source.parsed());
    if (family.model) family.model->fail("this file is a model, not a family", "a family has 'family: name' instead");
    if (needs_sequence) require_sequence(file, &family);
    if (values) change_parameters(file, *values);
    if (sizes) change_input(file, file.input ? file.input : family.input, *sizes, *values);
    Model model = build_model(file, &family);
    require_blocks(model, file, family);
    return model;
  } catch (const Error& error) {
    // The values of this model may have caused the error in the family's file.
    if (!error.place() || error.place()->file != source.origin) throw;
    throw Error(fmt::format("{}\nused by the model {}, {}:{}:{}", error.what(), quote(file.model->text()), root.origin(),
                            file.family->line(), file.family->column()),
                error.hint().empty() && values ? values_hint(file) : error.hint(), error.place());
  }
}

/// Returns a model that is defined only by a family and the values in its name. Throws Error if a
/// value is missing or unknown.
YamlNode model_of_family(const EmbeddedFile& family, const YamlNode& values) {
  const ModelFile file = ModelFile::read(bundled_yaml(family));
  std::vector<std::string> known, missing;
  for (const ModelParameter& each : file.parameters) {
    known.push_back(each.name.text());
    if (!each.value && !values.find(each.name.text())) missing.push_back(each.name.text());
  }
  const std::string all = fmt::format("known parameters: {}", fmt::join(known, ", "));
  for (const auto& [key, value] : values.entries()) {
    if (std::find(known.begin(), known.end(), key.text()) != known.end() || is_of_any_model(key.text()) ||
        key.text() == input_key)
      continue;
    throw Error(fmt::format("the family {} has no parameter {}", quote(family.name), quote(key.text())),
                suggest_parameter(key.text(), known));
  }
  if (!missing.empty()) {
    throw Error(fmt::format("the family {} needs {}", quote(family.name), fmt::join(missing, ", ")),
                fmt::format("add @{}=…; {}", missing.front(), all));
  }
  return YamlNode::parse(fmt::format("{{format: 1, model: {0}, family: {0}}}", family.name), std::string(family.name));
}

/// Whether a name is that of a bundled model or family, although a folder may have the same name.
bool is_bundled(const std::string& name) {
  if (is_path(name) && !is_published_spelling(name)) return false;
  return find_file(bundled_models(), canonical_model_name(name)) != nullptr ||
         find_file(bundled_families(), name) != nullptr;
}

/// Returns the path of a Hugging Face `config.json`: the name itself, or the file in the folder of this name. Empty if there
/// is none.
std::string configuration_named(const std::string& name) {
  std::error_code unknown;
  std::filesystem::path path = name;
  if (std::filesystem::is_directory(path, unknown)) path /= "config.json";
  if (path.extension() != ".json" || !std::filesystem::is_regular_file(path, unknown)) return {};
  const std::string text = read_file(path.string(), max_configuration_bytes);
  const auto has = [&](std::string_view key) { return text.find(key) != std::string::npos; };
  const bool is_configuration = has("\"model_type\"") || has("\"architectures\"") || has("\"_class_name\"");
  // A model file of this program may be written as JSON, and then has the key `format`.
  return is_configuration || !has("\"format\"") ? path.string() : std::string();
}

/// Loads the file at the path `name`, or the bundled file of this name. If the name contains
/// `values`, it may also be the name of a family.
YamlNode load_file(const std::string& name, const std::optional<YamlNode>& values) {
  if (is_path(name) && !is_published_spelling(name)) {
    std::error_code unknown;
    // A model of a Hugging Face repository has to be bundled, because the program does not access the network.
    if (is_hub_name(name) && !std::filesystem::exists(name, unknown)) {
      if (const EmbeddedFile* const file = find_file(bundled_models(), canonical_model_name(name)))
        return bundled_yaml(*file);
      throw Error(fmt::format("unknown model {}", quote(name)), unknown_model_hint(name));
    }
    return YamlNode::load(name);
  }
  if (const EmbeddedFile* const file = find_file(bundled_models(), canonical_model_name(name))) return bundled_yaml(*file);
  if (const EmbeddedFile* const family = values ? find_file(bundled_families(), name) : nullptr)
    return model_of_family(*family, *values);
  const std::string problem = fmt::format("unknown model {}", quote(name));
  if (name.find(',') != std::string::npos) throw Error(problem, "only 'recommend' takes several models; name one");
  throw Error(problem, unknown_model_hint(name));
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : bundled_models()) names.emplace_back(file.name);
  return names;
}

namespace {

/// Returns the sizes that a name adds to an ONNX file: `net.onnx@input=3x640x640`, or `net.onnx@tokens=128` for a sequence.
ImportOptions import_options_of(const std::string& name, const YamlNode& values) {
  ImportOptions options;
  for (const auto& [key, value] : values.entries()) {
    const std::string text = key.text();
    if (is_of_any_model(text)) continue;
    if (text != input_key && text != sequence_parameter) {
      throw Error(fmt::format("{} has no parameter {}", quote(name), quote(text)),
                  "an ONNX file takes the sizes of its input: @input=3x640x640, or @tokens=128 for a sequence");
    }
    if (!options.input_shape.empty()) {
      throw Error(fmt::format("{} gets the sizes of its input twice", quote(name)),
                  "leave one out: @input, --input-shape, @tokens and --seq all set the size of the input");
    }
    if (text == sequence_parameter) {
      options.input_shape = {value.integer(1, max_attribute)};
    } else {
      options.input_shape = parse_input_shape(fmt::format("@{}", input_key), value.text());
    }
  }
  return options;
}

Model finished(const YamlNode& root, Model model, const Variant& variant) {
  const std::string base = model.name;
  train_only(model, trained_parts_of(root, variant.values));
  if (const auto packed = variant.values ? variant.values->find(packed_key) : std::nullopt)
    pack_sequences(model, packed->integer(1, max_attribute));
  model.name = base + variant.changes;
  return model;
}

Model load_onnx(const Variant& variant) {
  const ImportOptions options = variant.values ? import_options_of(variant.name, *variant.values) : ImportOptions();
  Import imported = import_onnx_file(variant.name, options);
  const YamlNode root = YamlNode::parse(std::move(imported.model_file), "the import of " + variant.name);
  Model model = finished(root, read_model(root), variant);
  model.warnings = std::move(imported.warnings);
  return model;
}

/// Loads a model of Hugging Face, as `models import` reads it.
Model load_configuration(const std::string& path, const Variant& variant) {
  ImportOptions options;
  if (const auto length = variant.values ? variant.values->find(sequence_parameter) : std::nullopt)
    options.input_shape = {length->integer(1, max_attribute)};
  Import imported = import_hugging_face(read_file(path, max_configuration_bytes), path, options);
  const YamlNode root = YamlNode::parse(std::move(imported.model_file), "the import of " + path);
  Model model = finished(root, read_model(root, variant.values, !options.input_shape.empty()), variant);
  model.warnings = std::move(imported.warnings);
  return model;
}

}  // namespace

Model load_model(const std::string& asked, std::optional<std::int64_t> sequence) {
  const Variant own = variant_of(asked);
  if (sequence && own.values && own.values->find(sequence_parameter)) {
    throw Error(fmt::format("{} already sets the sequence length, but {} is requested", quote(asked), *sequence),
                "leave out one of the two lengths");
  }
  const Variant variant = sequence ? variant_of(fmt::format("{}@{}={}", asked, sequence_parameter, *sequence)) : own;
  if (is_onnx_file(variant.name)) return load_onnx(variant);
  if (const auto tagged = variant_of_tag(variant)) {
    const YamlNode root = load_file(tagged->name, tagged->values);
    return finished(root, read_model(root, tagged->values), *tagged);
  }
  if (!is_bundled(variant.name)) {
    if (const std::string path = configuration_named(variant.name); !path.empty()) return load_configuration(path, variant);
  }
  const YamlNode root = load_file(variant.name, variant.values);
  return finished(root, read_model(root, variant.values, sequence.has_value()), variant);
}

Model parse_model(std::string text, std::string origin) {
  const YamlNode root = YamlNode::parse(std::move(text), std::move(origin));
  Model model = read_model(root);
  train_only(model, trained_parts_of(root, std::nullopt));
  return model;
}

}  // namespace ddl
