#include "core/yaml_node.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <streambuf>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/error.hpp"
#include "core/number_rows.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::string_view spaces_and_tabs = " \t";
constexpr std::string_view white_space = " \t\r\n";

/// A stream buffer that reads a text without copying the text.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(const std::string& text) {
    // std::streambuf requires a pointer to non-const, although reading changes nothing.
    char* const begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

/// The position after the closing quote of the quoted text that starts at `at`; empty if the file ends first.
std::optional<std::size_t> end_of_quoted(std::string_view source, std::size_t at) {
  const char quote_mark = source[at];
  for (++at; at < source.size(); ++at) {
    if (quote_mark == '"' && source[at] == '\\') {
      ++at;
    } else if (source[at] == quote_mark) {
      const bool doubled = quote_mark == '\'' && at + 1 < source.size() && source[at + 1] == '\'';
      if (!doubled) return at + 1;
      ++at;
    }
  }
  return std::nullopt;
}

/// Whether the null at `at` is written in the file. A missing value is a null that is not written.
bool is_written_null(std::string_view source, std::size_t at) {
  const std::string_view rest = source.substr(at);
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (!rest.starts_with(word)) continue;
    if (rest.size() == word.size() || std::string_view(" \t\r\n,]}:").find(rest[word.size()]) != std::string_view::npos)
      return true;
  }
  return false;
}

/// Whether a ':' follows the key that ends at `end`. In brackets, the ':' may be on a later line.
bool has_colon(std::string_view source, std::size_t end, bool in_brackets) {
  const std::size_t next = source.find_first_not_of(in_brackets ? white_space : spaces_and_tabs, end);
  return next != std::string_view::npos && source[next] == ':';
}

/// Finds nesting so deep that the file cannot be valid, even if some of its brackets are in prose. Returns the position of
/// the first bracket beyond the limit. Without this check, the parser would look ahead from a bracket to the end of the
/// file, which takes some hundred times the memory of the file.
std::optional<std::size_t> find_hopeless_nesting(std::string_view source) {
  constexpr int max_open_brackets = 1000;
  int open = 0;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const char c = source[at];
    if ((c == '[' || c == '{') && ++open > max_open_brackets) return at;
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return std::nullopt;
}

/// A syntax error of the parser, and a message for the author of the file.
struct SyntaxProblem {
  std::string_view parser_words;
  std::string_view message;
  std::string_view hint;
};
const std::array syntax_problems{
    SyntaxProblem{YAML::ErrorMsg::MAP_VALUE, "a ':' where no key is possible",
                  "put text that contains ': ' into 'quotes', and check the indentation of this line"},
    SyntaxProblem{YAML::ErrorMsg::BLOCK_ENTRY, "a '-' where no list item is possible",
                  "start the list on a new line, and put text that starts with '- ' into 'quotes'"},
    SyntaxProblem{YAML::ErrorMsg::UNKNOWN_TOKEN, "a value cannot start with this character", "put it into 'quotes'"},
    SyntaxProblem{YAML::ErrorMsg::FLOW_END, "this bracket was never opened",
                  "put text that contains brackets into 'quotes'"},
    SyntaxProblem{YAML::ErrorMsg::END_OF_MAP, "this does not belong to the map before it",
                  "check the indentation of this line, and put text that contains quotes or brackets into 'quotes'"},
    SyntaxProblem{YAML::ErrorMsg::END_OF_SEQ, "this does not belong to the list before it",
                  "check the indentation of this line, and put text that contains quotes or brackets into 'quotes'"},
};

const std::string anchor_message = "anchors (&) and aliases (*) are not allowed";
const std::string anchor_hint = "write the value out, or put text that starts with '&' or '*' into 'quotes'";
const std::string quote_hint = "put text that starts with a quote into the other kind of quotes";

}  // namespace

struct YamlNode::Element {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  bool plain = true;  ///< neither quoted nor a block scalar, so the text may be a number
  std::size_t offset = 0;
  std::string text;
  std::vector<Element> children;  ///< the items of a list, or alternating keys and values of a map
};

struct YamlNode::Document {
  SourceText source;
  Element root;
};

/// Builds the tree from the parser's events. The parser accepts more than this program does, so each event is checked
/// against the source.
class YamlNode::Builder : public YAML::EventHandler {
 public:
  /// `shortened`: the text to parse; null: the whole file.
  explicit Builder(const SourceText& source, const ShortenedText* shortened = nullptr)
      : source_(source), shortened_(shortened) {}

  /// Parses a file, which must contain a single document, and returns its tree.
  static Element tree_of(const SourceText& source) {
    const ShortenedText shortened = shorten_number_rows(source.text());
    if (!shortened.cuts.empty()) {
      try {
        Builder builder(source, &shortened);
        Element root = builder.parse();
        if (builder.rows_ == shortened.cuts.size()) return root;
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the whole file has the same error, or none
      }
    }
    return Builder(source).parse();
  }

  Element parse() {
    if (const auto at = find_hopeless_nesting(text())) throw too_deep(*at);
    TextBuffer buffer(shortened_ != nullptr ? shortened_->text : text());
    std::istream stream(&buffer);
    try {
      YAML::Parser parser(stream);
      while (parser.HandleNextDocument(*this)) {}
    } catch (const YAML::Exception& exception) {
      throw explain(exception);
    }
    if (key_problem_) throw *key_problem_;
    if (root_.kind == Element::Kind::null)
      throw source_.error(root_.offset, "the file is empty", "write 'format: 1' first, then what the file describes");
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const std::size_t at = offset(mark);
    if (text().substr(at, 3) == "---") {
      throw source_.error(at, "a second document starts here", "keep each document in a file of its own");
    }
    throw source_.error(at, "this does not belong to the value before it", "check the indentation of this line");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t at = offset(mark);
    refuse_properties(at, anchor);
    add({.kind = Element::Kind::null,
         .offset = is_written_null(text(), at) ? at : place_of_nothing(at),
         .text = {},
         .children = {}});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw source_.error(offset(mark), anchor_message, anchor_hint);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    const std::size_t at = offset(mark);
    refuse_properties(at, anchor);
    const bool quoted = at < text().size() && (text()[at] == '"' || text()[at] == '\'');
    if (quoted && !end_of_quoted(text(), at)) throw source_.error(at, "this quote is never closed", quote_hint);
    // Escapes in quotes can produce characters that are not allowed in the file itself.
    if (const auto bad = find_unprintable(value))
      throw source_.error(at, fmt::format("the character {} is not allowed in text", visible(*bad)), "remove it");
    const bool is_plain = tag == "?";
    const bool is_row = is_plain && shortened_ != nullptr && rows_ < shortened_->cuts.size() &&
                        shortened_->cuts[rows_].begin == at && !expects_key();
    const std::size_t end = is_row ? shortened_->cuts[rows_++].end : at;
    add({.kind = Element::Kind::scalar,
         .plain = is_plain,
         .offset = at,
         .text = is_row ? text().substr(at, end - at) : value,
         .children = {}});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Element::Kind::sequence, mark, anchor, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Element::Kind::map, mark, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A map or list whose end has not been reached.
  struct Open {
    Element element;
    bool in_brackets = false;
    std::unordered_map<std::string, std::size_t> keys;  ///< for a map: index of each key
  };

  [[nodiscard]] const std::string& text() const { return source_.text(); }
  /// The lines and columns of the parser are not used, because the parser resets them at the end of the file.
  [[nodiscard]] std::size_t offset(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    return std::min(shortened_ != nullptr ? shortened_->original(at) : at, text().size());
  }

  [[nodiscard]] Error too_deep(std::size_t at) const {
    return source_.error(at, fmt::format("nested deeper than {} levels", max_depth),
                         "look for brackets that are not closed");
  }

  void refuse_properties(std::size_t at, YAML::anchor_t anchor) const {
    if (anchor != 0) throw source_.error(at, anchor_message, anchor_hint);
    // Tags are checked in the source, because the parser does not report all of them.
    if (at < text().size() && text()[at] == '!') {
      throw source_.error(at, "tags are not allowed", "put text that starts with '!' into 'quotes'");
    }
  }

  void open(Element::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    const std::size_t at = offset(mark);
    refuse_properties(at, anchor);
    // The depth is checked before the parser descends, because the parser is recursive.
    if (open_.size() == max_depth) throw too_deep(at);
    open_.push_back({.element = {.kind = kind, .offset = at, .text = {}, .children = {}},
                     .in_brackets = style == YAML::EmitterStyle::Flow,
                     .keys = {}});
  }

  void close() {
    Element element = std::move(open_.back().element);
    open_.pop_back();
    add(std::move(element));
  }

  void add(Element element) {
    if (open_.empty()) {
      root_ = std::move(element);
      return;
    }
    if (expects_key()) check_key(element);
    open_.back().element.children.push_back(std::move(element));
  }

  [[nodiscard]] bool expects_key() const {
    if (open_.empty()) return false;
    const Element& parent = open_.back().element;
    return parent.kind == Element::Kind::map && parent.children.size() % 2 == 0;
  }

  void check_key(const Element& key) {
    if (key.kind == Element::Kind::null && !is_written_null(text(), key.offset)) {
      return note_key_problem(key, "a key is expected here", "write 'key: value' on one line");
    }
    if (key.kind != Element::Kind::scalar) return note_key_problem(key, "a key must be text", "put the key into 'quotes'");
    std::size_t end = key.offset + key.text.size();
    if (!key.plain) {
      end = end_of_quoted(text(), key.offset).value_or(text().size());
    } else if (text().compare(key.offset, key.text.size(), key.text) != 0) {
      return note_key_problem(key, "a key must be on one line", "write 'key: value' on one line");
    }
    if (!has_colon(text(), end, open_.back().in_brackets)) {
      return note_key_problem(key, fmt::format("{} has no ':' after it", quote(key.text)),
                              "write 'key: value', with a space after the ':'");
    }
    const auto [first, is_new] = open_.back().keys.emplace(key.text, key.offset);
    if (!is_new) {
      throw source_.error(
          key.offset,
          fmt::format("duplicate key {}, already at line {}", quote(key.text), source_.place(first->second).line),
          "remove one of them");
    }
  }

  /// Stores a key's first problem, to be reported at the end unless the file has an unclosed bracket. The parser reads the
  /// text after an unclosed bracket as keys, but the bracket is the error to report.
  void note_key_problem(const Element& key, const std::string& message, const std::string& hint) {
    if (!key_problem_) key_problem_ = source_.error(key.offset, message, hint);
  }

  /// Returns the position to report for a missing value. `next`: the position of the next element.
  [[nodiscard]] std::size_t place_of_nothing(std::size_t next) const {
    if (open_.empty() || expects_key()) return next;
    const auto& [parent, in_brackets, keys] = open_.back();
    if (parent.kind == Element::Kind::map) return parent.children.back().offset;
    if (in_brackets) return next;
    // Finds the last dash before `next` that is in the same column as the first dash.
    const int column = source_.place(parent.offset).column;
    std::size_t dash = next;
    while (dash > parent.offset) {
      dash = text().rfind('-', dash - 1);
      if (source_.place(dash).column == column) break;
    }
    return dash;
  }

  [[nodiscard]] Error explain(const YAML::Exception& exception) const {
    const std::string_view words = exception.msg;
    const std::size_t at = offset(exception.mark);
    const auto bracket = std::find_if(open_.rbegin(), open_.rend(), [this](const Open& candidate) {
      // At the end of the file, the parser also reports the ends of maps that the file does not contain.
      return text()[candidate.element.offset] == (candidate.element.kind == Element::Kind::map ? '{' : '[');
    });
    const bool in_brackets = words == YAML::ErrorMsg::END_OF_MAP_FLOW || words == YAML::ErrorMsg::END_OF_SEQ_FLOW;
    if (in_brackets && bracket != open_.rend() && text().find_first_not_of(white_space, at) == std::string::npos) {
      return source_.error(bracket->element.offset, "this bracket is never closed");
    }
    if (key_problem_) return *key_problem_;
    if (in_brackets && bracket != open_.rend()) {
      const Place place = source_.place(bracket->element.offset);
      return source_.error(
          at, fmt::format("a ',' or '{}' is missing before this", bracket->element.kind == Element::Kind::map ? '}' : ']'),
          fmt::format("the bracket opened at line {}, column {}", place.line, place.column));
    }
    if (words.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) return source_.error(at, anchor_message, anchor_hint);
    // The parser reports the position of a tab, or that of the next character.
    const std::size_t line_start = at - static_cast<std::size_t>(source_.place(at).column - 1);
    const std::size_t first = text().find_first_not_of(' ', line_start);
    if (first <= at && first < text().size() && text()[first] == '\t')
      return source_.error(first, "a tab in the indentation", "indent with spaces");
    for (const SyntaxProblem& problem : syntax_problems) {
      if (words == problem.parser_words) return source_.error(at, problem.message, std::string(problem.hint));
    }
    return source_.error(at, fmt::format("not valid YAML: {}", words));
  }

  const SourceText& source_;
  const ShortenedText* shortened_;
  std::size_t rows_ = 0;  ///< number of cut items so far
  Element root_;
  std::vector<Open> open_;
  int documents_ = 0;
  std::optional<Error> key_problem_;
};

YamlNode YamlNode::parse(std::string text, std::string origin) {
  if (text.size() > max_bytes) {
    throw Error(fmt::format("{}: longer than {} MiB", origin, max_bytes >> 20U), "check the name of the file");
  }
  auto document = std::make_shared<Document>(Document{.source = SourceText(std::move(text), std::move(origin)), .root = {}});
  document->root = Builder::tree_of(document->source);
  const Element* const root = &document->root;
  return {std::move(document), root};
}

YamlNode YamlNode::load(const std::string& path) { return parse(read_file(path, max_bytes), path); }

bool YamlNode::is_map() const { return element_->kind == Element::Kind::map; }
bool YamlNode::is_sequence() const { return element_->kind == Element::Kind::sequence; }
bool YamlNode::is_scalar() const { return element_->kind == Element::Kind::scalar; }
bool YamlNode::is_null() const { return element_->kind == Element::Kind::null; }

std::string_view YamlNode::kind() const {
  switch (element_->kind) {
    case Element::Kind::null:
      return "nothing";
    case Element::Kind::scalar:
      return "text";
    case Element::Kind::sequence:
      return "list";
    case Element::Kind::map:
      return "map";
  }
  return "";
}

void YamlNode::require(bool met, std::string_view expected) const {
  if (met) return;
  const bool has_parts = is_map() || is_sequence();
  const std::string hint = expected == "a map"    ? "write one 'key: value' per line"
                           : expected == "a list" ? "write one '- item' per line, or [first, second]"
                           : has_parts            ? "write a single value"
                                                  : "write a value, or leave the key out";
  fail(fmt::format("expected {}, found {}{}", expected, has_parts ? "a " : "", kind()), hint);
}

const YamlNode::Element* YamlNode::find_value(std::string_view key) const {
  require(is_map(), "a map");
  for (std::size_t i = 0; i < element_->children.size(); i += 2) {
    if (element_->children[i].text == key) return &element_->children[i + 1];
  }
  return nullptr;
}

YamlNode YamlNode::at(std::string_view key) const {
  if (const Element* const value = find_value(key)) return at_element(*value);
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < element_->children.size(); i += 2) keys.emplace_back(element_->children[i].text);
  const auto meant = nearest(key, keys);
  fail(fmt::format("the key {} is missing", quote(key)),
       meant ? fmt::format("there is {}: did you mean that?", quote(*meant)) : fmt::format("add '{}: ...'", key));
}

std::optional<YamlNode> YamlNode::find(std::string_view key) const {
  const Element* const value = find_value(key);
  if (value == nullptr) return std::nullopt;
  return at_element(*value);
}

namespace {

/// Throws Error for the first unknown key of a map. The hint names other unknown keys, so that one run finds several.
[[noreturn]] void refuse_keys(const YamlNode& map, std::span<const std::string_view> keys) {
  constexpr int most_others = 3;
  std::optional<YamlNode> first;
  std::string hint;
  int others = 0;
  for (const auto& [key, value] : map.entries()) {
    const std::string text = key.text();
    if (std::find(keys.begin(), keys.end(), text) != keys.end()) continue;
    if (!first) {
      first = key;
      hint = suggest(text, keys);
      continue;
    }
    if (++others > most_others) continue;
    const auto meant = nearest(text, keys);
    const bool ends = hint.ends_with('?') || hint.ends_with('.');
    hint += fmt::format("{} {} in line {}{}",
                        others > 1 ? ","
                        : ends     ? " Also unknown:"
                                   : ". Also unknown:",
                        quote(text), key.line(), meant ? fmt::format(" (did you mean {}?)", quote(*meant)) : std::string());
  }
  if (others > most_others) hint += fmt::format(", and {} more", others - most_others);
  first->fail(fmt::format("unknown key {}", quote(first->text())), hint);
}

}  // namespace

void YamlNode::only_keys(std::span<const std::string_view> keys) const {
  require(is_map(), "a map");
  for (std::size_t i = 0; i < element_->children.size(); i += 2) {
    if (std::find(keys.begin(), keys.end(), element_->children[i].text) == keys.end()) refuse_keys(*this, keys);
  }
}

std::optional<YamlNode> YamlNode::find(std::string_view key, std::string_view former) const {
  std::optional<YamlNode> value = find(key);
  return value || former.empty() ? value : find(former);
}

void YamlNode::only_keys(const std::vector<std::string_view>& keys, std::span<const FormerKey> former) const {
  require(is_map(), "a map");
  for (std::size_t i = 0; i < element_->children.size(); i += 2) {
    const Element& key = element_->children[i];
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) continue;
    const auto known =
        std::find_if(former.begin(), former.end(), [&](const FormerKey& each) { return each.former == key.text; });
    if (known == former.end()) at_element(key).fail(fmt::format("unknown key {}", quote(key.text)), suggest(key.text, keys));
    if (find_value(known->now) != nullptr) {
      at_element(key).fail(fmt::format("{} is the former name of {}", quote(key.text), quote(known->now)),
                           "leave one of them out");
    }
  }
}

std::vector<std::pair<YamlNode, YamlNode>> YamlNode::entries() const {
  require(is_map(), "a map");
  std::vector<std::pair<YamlNode, YamlNode>> result;
  result.reserve(element_->children.size() / 2);
  for (std::size_t i = 0; i < element_->children.size(); i += 2) {
    result.emplace_back(at_element(element_->children[i]), at_element(element_->children[i + 1]));
  }
  return result;
}

std::vector<YamlNode> YamlNode::items() const {
  require(is_sequence(), "a list");
  std::vector<YamlNode> result;
  result.reserve(element_->children.size());
  for (const Element& item : element_->children) result.push_back(at_element(item));
  return result;
}

std::string YamlNode::text() const {
  require(is_scalar(), "text");
  if (element_->text.empty()) fail("expected text, found none between the quotes");
  if (element_->text.size() > max_text) fail(fmt::format("a text of more than {} characters", max_text), "shorten it");
  return element_->text;
}

std::string YamlNode::name() const {
  std::string name = text();
  if (name.size() > max_name) fail(fmt::format("a name of more than {} characters", max_name));
  if (name.find('\n') != std::string::npos) fail("a name of more than one line", "write the name on the line of its key");
  return name;
}

const std::string& YamlNode::unquoted(std::string_view expected) const {
  require(is_scalar(), expected);
  if (!element_->plain) fail(fmt::format("expected {}, found text in quotes", expected), "remove the quotes");
  return element_->text;
}

bool YamlNode::boolean() const {
  const std::string& written = unquoted("yes or no");
  if (written == "yes" || written == "true") return true;
  if (written == "no" || written == "false") return false;
  fail(fmt::format("{} is neither yes nor no", quote(written)), "use yes, no, true or false");
}

std::int64_t YamlNode::integer(std::int64_t low, std::int64_t high) const {
  const std::string& written = unquoted("a whole number");
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (end != written.data() + written.size() || problem == std::errc::invalid_argument) {
    fail(fmt::format("{} is not a whole number", quote(written)), "use only digits, without unit, point or separators");
  }
  // A number that does not fit into 64 bits is outside of every range.
  const bool beyond = problem == std::errc::result_out_of_range;
  const bool negative = written.starts_with('-');
  if (beyond ? negative : value < low) fail(fmt::format("{} is too small: at least {}", quote(written), low));
  if (beyond ? !negative : value > high) fail(fmt::format("{} is too large: at most {}", quote(written), high));
  return value;
}

double YamlNode::number(double low, double high) const {
  const std::string& written = unquoted("a number");
  double value = 0.0;
  const auto [end, problem] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (end != written.data() + written.size() || problem == std::errc::invalid_argument) {
    fail(fmt::format("{} is not a number", quote(written)), "use a decimal number without unit or separators");
  }
  if (problem == std::errc::result_out_of_range) fail(fmt::format("{} is out of range", quote(written)));
  if (!std::isfinite(value)) fail(fmt::format("{} is not a finite number", quote(written)));
  if (value < low) fail(fmt::format("{} is too small: at least {}", quote(written), low));
  if (value > high) fail(fmt::format("{} is too large: at most {}", quote(written), high));
  return value;
}

template <class Q>
Q YamlNode::quantity(const Plausible<Q>& range, bool allow_zero) const {
  require(is_scalar(), range.noun);
  UnitProblem problem;
  const auto value = parse_plausible<Q>(element_->text, range, problem);
  if (!value) fail(problem.message, problem.hint);
  if (!allow_zero && value->value() == 0.0) {
    fail(fmt::format("{} must be greater than zero", quote(element_->text)),
         "use a larger value; an optional key may be left out");
  }
  return *value;
}

Bytes YamlNode::bytes(bool allow_zero, const Plausible<Bytes>& range) const { return quantity(range, allow_zero); }
Seconds YamlNode::seconds(bool allow_zero, const Plausible<Seconds>& range) const { return quantity(range, allow_zero); }
Bandwidth YamlNode::bandwidth(const Plausible<Bandwidth>& range) const { return quantity(range, false); }
FlopRate YamlNode::flop_rate(const Plausible<FlopRate>& range) const { return quantity(range, false); }

int YamlNode::line() const { return document_->source.place(element_->offset).line; }
int YamlNode::column() const { return document_->source.place(element_->offset).column; }
const std::string& YamlNode::origin() const { return document_->source.origin(); }

void YamlNode::fail(const std::string& message, const std::string& hint) const {
  throw document_->source.error(element_->offset, message, hint);
}

}  // namespace ddl
