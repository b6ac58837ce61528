#include "model_zoo/network/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/operations/cast.hpp"
#include "model_zoo/operations/registry.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {
namespace {

constexpr std::array<Pass, 3> passes{Pass::forward, Pass::backward_data, Pass::backward_weight};
/// The words that every problem has in addition to the attributes of its operation.
constexpr std::array<std::string_view, 4> common{"in", "samples", "precision", "pass"};

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc() || end != text.data() + text.size() || count < 1 || count > max_items) return std::nullopt;
  return count;
}

std::optional<TensorShape> parse_shape(std::string_view text) {
  TensorShape shape;
  shape.sequence = text.ends_with('t');
  if (shape.sequence) text.remove_suffix(1);
  int sizes = 0;
  for (std::size_t start = 0;; ++sizes) {
    const std::size_t end = text.find('x', start);
    const std::optional<std::int64_t> size = parse_count(text.substr(start, end - start));
    if (!size || sizes > 3) return std::nullopt;
    (sizes == 0 ? shape.channels : shape.extent[static_cast<std::size_t>(sizes) - 1]) = *size;
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  shape.rank = sizes;
  if (shape.sequence && shape.rank != 1) return std::nullopt;
  return shape;
}

/// One `key=value` of a problem's line.
struct Word {
  std::size_t offset = 0;
  std::string_view key, value;
};

/// A problem's line that is split into words. Errors have a position in the line.
class Line {
 public:
  Line(const std::string& line, const std::string& origin) : source_(line, origin) {
    const std::string& text = source_.text();
    if (text.find('\n') != std::string::npos) throw source_.error(text.find('\n'), "a problem is one line");
    std::size_t at = 0;
    const auto next = [&]() -> std::optional<Word> {
      at = text.find_first_not_of(" \t\r", at);
      if (at == std::string::npos) return std::nullopt;
      const std::size_t start = at;
      at = std::min(text.find_first_of(" \t\r", at), text.size());
      const std::string_view word = std::string_view(text).substr(start, at - start);
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) return Word{start, word, {}};
      return Word{start, word.substr(0, equals), word.substr(equals + 1)};
    };
    const std::optional<Word> first = next();
    if (!first) throw source_.error(0, "the problem is empty", "such as: pool kind=max kernel=2 in=64x56x56");
    operation_ = *first;
    while (const std::optional<Word> word = next()) {
      if (word->value.empty()) {
        throw source_.error(word->offset, fmt::format("{} has no value", quote(word->key)), "write key=value");
      }
      const auto same = [&](const Word& other) { return other.key == word->key; };
      if (std::any_of(words_.begin(), words_.end(), same)) fail(*word, fmt::format("{} is given twice", quote(word->key)));
      words_.push_back(*word);
    }
  }

  [[nodiscard]] const Word& operation() const { return operation_; }
  [[nodiscard]] const std::vector<Word>& words() const { return words_; }
  [[nodiscard]] const Word* find(std::string_view key) const {
    const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& word) { return word.key == key; });
    return found == words_.end() ? nullptr : &*found;
  }
  [[noreturn]] void fail(const Word& word, const std::string& message, const std::string& hint = {}) const {
    throw source_.error(word.offset, message, hint);
  }

 private:
  SourceText source_;
  Word operation_;
  std::vector<Word> words_;
};

Precision read_precision(const Line& line) {
  const Word* word = line.find("precision");
  if (word == nullptr) return Precision::fp32;
  const std::optional<Precision> precision = parse_enum<Precision>(word->value);
  if (precision) return *precision;
  line.fail(*word, fmt::format("unknown precision {}", quote(word->value)), suggest(word->value, enum_names<Precision>));
}

/// Returns the attributes in the form of a model file, one per line, in the order of the words.
YamlNode attributes_of(const Line& line, std::span<const Word* const> words) {
  std::string text = fmt::format("{}:\n", line.operation().key);
  for (const Word* word : words) text += fmt::format("  {}: {}\n", word->key, word->value);
  if (words.empty()) text += "  {}\n";
  return YamlNode::parse(text, "the problem");
}

/// Returns the word that an error in the text of attributes_of refers to, and the error's message. In this text, each line
/// except the first is one word. For an error without such a word, returns the operation and the complete message.
std::pair<Word, std::string> placed_in(const Line& line, std::span<const Word* const> words, std::string_view message) {
  constexpr std::string_view origin = "the problem:";
  if (!message.starts_with(origin)) return {line.operation(), std::string(message)};
  message.remove_prefix(origin.size());
  std::size_t place = 0;
  std::from_chars(message.data(), message.data() + message.size(), place);
  message = message.substr(0, message.find('\n'));
  message = message.substr(std::min(message.find(": ") + 2, message.size()));
  const bool is_word = place >= 2 && place - 2 < words.size();
  return {is_word ? *words[place - 2] : line.operation(), std::string(message)};
}

std::string_view first_word(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_first_of(" \t\r\n"));
}

}  // namespace

std::string print_shape(const TensorShape& shape) {
  std::string text = fmt::format("{}", shape.channels);
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.rank); ++d) text += fmt::format("x{}", shape.extent[d]);
  return shape.sequence ? text + "t" : text;
}

std::string print_problem(const Problem& problem) {
  const std::string attributes = problem.operation->attributes();
  std::string inputs;
  for (const TensorShape& input : problem.inputs) inputs += (inputs.empty() ? "" : ",") + print_shape(input);
  return fmt::format("{}{}{} in={} samples={} precision={} pass={}", problem.operation->type(),
                     attributes.empty() ? "" : " ", attributes, inputs, problem.samples, to_string(problem.precision),
                     to_string(problem.pass));
}

void ProblemCounts::add(std::string line, int layers) {
  const auto [place, is_new] = places_.emplace(std::move(line), problems_.size());
  if (is_new) problems_.push_back({place->first, 0});
  problems_[place->second].layers += layers;
}

Problem gradient_addition(const TensorShape& shape, std::int64_t samples, Precision precision) {
  const std::string input = print_shape(shape);
  Problem problem = parse_problem(fmt::format("add in={},{}", input, input), "a sum of gradients");
  problem.samples = samples;
  problem.precision = precision;
  return problem;
}

Problem table_addition(const SharedTable& table, Precision precision) {
  return gradient_addition({.channels = table.columns, .extent = {table.rows, 1, 1}, .rank = 1, .sequence = true}, 1,
                           precision);
}

Problem parse_problem(const std::string& text, const std::string& origin) {
  const Line line(text, origin);
  const bool is_cast = line.operation().key == cast_kind().key;
  const OperationKind* kind = is_cast ? &cast_kind() : find_operation_kind(line.operation().key);
  if (kind == nullptr) {
    std::vector<std::string_view> keys;
    for (const OperationKind& known : operation_kinds()) keys.push_back(known.key);
    keys.push_back(cast_kind().key);
    line.fail(line.operation(), fmt::format("unknown operation {}", quote(line.operation().key)),
              suggest(line.operation().key, keys));
  }

  Problem problem;
  std::vector<const Word*> attributes;
  for (const Word& word : line.words()) {
    if (std::find(common.begin(), common.end(), word.key) != common.end()) continue;
    if (std::find(kind->attributes.begin(), kind->attributes.end(), word.key) == kind->attributes.end()) {
      std::vector<std::string_view> known = kind->attributes;
      known.insert(known.end(), common.begin(), common.end());
      line.fail(word, fmt::format("unknown attribute {} of {}", quote(word.key), kind->key), suggest(word.key, known));
    }
    attributes.push_back(&word);
  }

  const Word* in = line.find("in");
  if (in == nullptr) {
    line.fail(line.operation(), fmt::format("{} needs 'in'", kind->key), "write the input shape, such as in=64x56x56");
  }
  for (std::string_view rest = in->value;;) {
    const std::size_t comma = rest.find(',');
    const std::optional<TensorShape> shape = parse_shape(rest.substr(0, comma));
    if (!shape) {
      line.fail(*in, fmt::format("{} is not a shape", quote(rest.substr(0, comma))),
                "channels and up to three extents, 64x56x56, or 768x128t for 128 tokens");
    }
    try {
      problem.inputs.push_back(checked(*shape));
    } catch (const Error& error) {
      line.fail(*in, error.what(), error.hint());
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (const Word* word = line.find("samples")) {
    const std::optional<std::int64_t> samples = parse_count(word->value);
    if (!samples || *samples > max_attribute) {
      line.fail(*word, fmt::format("{} is not a number of samples", quote(word->value)), "a whole number of at least 1");
    }
    problem.samples = *samples;
  }
  problem.precision = read_precision(line);
  if (const Word* word = line.find("pass")) {
    const auto found = std::find_if(passes.begin(), passes.end(), [&](Pass pass) { return to_string(pass) == word->value; });
    if (found == passes.end()) {
      std::vector<std::string_view> known;
      for (const Pass pass : passes) known.push_back(to_string(pass));
      line.fail(*word, fmt::format("unknown pass {}", quote(word->value)), suggest(word->value, known));
    }
    problem.pass = *found;
  }

  try {
    const YamlNode node = attributes_of(line, attributes);
    const Parameters none;
    const auto [place, value] = node.entries().front();
    problem.operation = kind->read(Attributes(place, value, kind->main_attribute, none, problem.inputs, {}));
    problem.output = checked(problem.operation->infer(problem.inputs));
    if (const auto to = cast_format(*problem.operation); to && is_mixed(*to) == is_mixed(problem.precision)) {
      throw Error(fmt::format("a cast from {} to {} must convert between two and four bytes", to_string(problem.precision),
                              to_string(*to)),
                  "such as: cast to=bf16 in=200704 samples=32 precision=fp32");
    }
    static_cast<void>(item_count("the input", {problem.inputs.front().items(), problem.samples}));
    static_cast<void>(item_count("the output", {problem.output.items(), problem.samples}));
  } catch (const Error& error) {
    const auto [word, message] = placed_in(line, attributes, error.what());
    line.fail(word, message, error.hint());
  }
  return problem;
}

std::string print_problem(const UpdateProblem& problem) {
  const std::string list = is_of_list(problem.implementation) ? fmt::format(" tensors={} implementation={}", problem.tensors,
                                                                            to_string(problem.implementation))
                                                              : std::string();
  return fmt::format("update optimizer={} parameters={}{} precision={}", to_string(problem.optimizer), problem.parameters,
                     list, to_string(problem.precision));
}

bool is_update_problem(std::string_view line) { return first_word(line) == "update"; }

UpdateProblem parse_update_problem(const std::string& text, const std::string& origin) {
  constexpr std::array<std::string_view, 5> known{"optimizer", "parameters", "tensors", "implementation", "precision"};
  const Line line(text, origin);
  for (const Word& word : line.words()) {
    if (std::find(known.begin(), known.end(), word.key) != known.end()) continue;
    line.fail(word, fmt::format("unknown attribute {} of update", quote(word.key)), suggest(word.key, known));
  }
  UpdateProblem problem{.precision = read_precision(line)};
  for (const std::string_view needed : {"optimizer", "parameters"}) {
    if (line.find(needed) == nullptr) {
      line.fail(line.operation(), fmt::format("update needs {}", quote(needed)),
                "such as: update optimizer=momentum parameters=36864");
    }
  }
  const Word& optimizer = *line.find("optimizer");
  const std::optional<Optimizer> parsed = parse_measured_optimizer(optimizer.value);
  if (!parsed) {
    std::vector<std::string_view> names;
    for (const Optimizer o : enum_values<Optimizer>) {
      if (timed_as(o) == o) names.push_back(to_string(o));
    }
    line.fail(optimizer, fmt::format("unknown optimizer {}", quote(optimizer.value)), suggest(optimizer.value, names));
  }
  problem.optimizer = *parsed;
  const Word& parameters = *line.find("parameters");
  const std::optional<std::int64_t> count = parse_count(parameters.value);
  if (!count) {
    line.fail(parameters, fmt::format("{} is not a number of parameters", quote(parameters.value)),
              "a whole number of at least 1");
  }
  problem.parameters = *count;
  if (const Word* const word = line.find("implementation")) {
    const std::optional<UpdateImplementation> implementation = parse_enum<UpdateImplementation>(word->value);
    if (!implementation) {
      line.fail(*word, fmt::format("unknown implementation {}", quote(word->value)),
                suggest(word->value, list_implementation_names()));
    }
    problem.implementation = *implementation;
  }
  if (const Word* const word = line.find("tensors")) {
    if (!is_of_list(problem.implementation)) {
      line.fail(*word, "'tensors' applies only to lists", "add the implementation, such as implementation=foreach");
    }
    const std::optional<std::int64_t> tensors = parse_count(word->value);
    if (!tensors || *tensors > problem.parameters) {
      line.fail(*word, fmt::format("{} is not a number of tensors", quote(word->value)),
                "a whole number of at least 1, at most as many as parameters");
    }
    problem.tensors = *tensors;
  }
  return problem;
}

std::string print_problem(const FreshMemoryProblem& problem) { return fmt::format("fresh_memory bytes={}", problem.bytes); }

bool is_fresh_memory_problem(std::string_view line) { return first_word(line) == "fresh_memory"; }

FreshMemoryProblem parse_fresh_memory_problem(const std::string& text, const std::string& origin) {
  const Line line(text, origin);
  for (const Word& word : line.words()) {
    if (word.key == "bytes") continue;
    line.fail(word, fmt::format("unknown attribute {} of fresh_memory", quote(word.key)), "fresh_memory only has 'bytes'");
  }
  const Word* const bytes = line.find("bytes");
  if (bytes == nullptr) {
    line.fail(line.operation(), "fresh_memory needs 'bytes'", "such as: " + print_problem(FreshMemoryProblem{}));
  }
  const std::optional<std::int64_t> count = parse_count(bytes->value);
  if (!count || *count > max_fresh_memory) {
    line.fail(*bytes, fmt::format("{} is not a number of bytes", quote(bytes->value)),
              fmt::format("a whole number of at least 1 and at most {}", max_fresh_memory));
  }
  return {*count};
}

}  // namespace ddl
