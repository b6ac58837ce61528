#include "core/json_source.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/json_cursor.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view json_white_space = " \t\r\n";
constexpr std::size_t deepest_place = 3;  // the depth of a path such as best/degrees/data

/// Returns the opening quote of the text that ends with a closing quote before `end`.
std::size_t opening_quote(std::string_view text, std::size_t end) {
  for (std::size_t at = end - 1; at-- > 0;) {
    if (text[at] != '"') continue;
    std::size_t escapes = 0;
    while (escapes < at && text[at - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) return at;
  }
  return 0;
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(json_white_space, at), text.size());
}

/// Returns the first character of the number that the parser has just read. The parser may have
/// read one character more than the number.
std::size_t number_start(std::string_view text, std::size_t bytes_read) {
  constexpr std::string_view letters = "+-.0123456789Ee";
  std::size_t end = std::min(bytes_read, text.size());
  if (end > 0 && letters.find(text[end - 1]) == std::string_view::npos) --end;
  const std::size_t before = end == 0 ? std::string_view::npos : text.find_last_not_of(letters, end - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

/// The offset and value of each number that Python writes but JSON does not have, such as NaN.
using PythonNumbers = std::map<std::size_t, double>;

/// Replaces NaN, Infinity and -Infinity outside of quotes by zeros of the same length, so that
/// offsets stay valid. Returns the replaced numbers.
PythonNumbers take_python_numbers(std::string& text) {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::array<std::pair<std::string_view, double>, 3> known{
      {{"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", infinity}, {"-Infinity", -infinity}}};
  constexpr std::string_view ends = " \t\r\n,]}";
  PythonNumbers numbers;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted && text[at] == '\\') ++at;
    if (quoted || (text[at] != 'N' && text[at] != 'I' && text[at] != '-')) continue;
    for (const auto& [word, value] : known) {
      const std::size_t end = at + word.size();
      if (std::string_view(text).substr(at, word.size()) != word) continue;
      if (end < text.size() && ends.find(text[end]) == std::string_view::npos) continue;
      text.replace(at, word.size(), "0" + std::string(word.size() - 1, ' '));
      numbers.emplace(at, value);
      break;
    }
  }
  return numbers;
}

}  // namespace

/// Builds the values from the parser's events, and records the positions of keys in the outer objects. nlohmann's own
/// builder compares each key with all earlier keys, which takes quadratic time.
class JsonSource::Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(const SourceText& source, std::map<std::string, Offsets, std::less<>>& places, const std::string& hint)
      : source_(source), places_(places), hint_(hint) {}

  Json read(JsonNumbers numbers) {
    std::string replaced;
    if (numbers == JsonNumbers::of_python) {
      replaced = source_.text();
      python_numbers_ = take_python_numbers(replaced);
    }
    const std::string& text = python_numbers_.empty() ? source_.text() : replaced;
    Json::sax_parse(JsonCursor(text.data(), &bytes_read_), JsonCursor(text.data() + text.size(), &bytes_read_), this);
    return std::move(root_);
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value != 0 || python_numbers_.empty()) return add(value);
    // The parser may have read one character after the zero.
    const auto behind = python_numbers_.lower_bound(bytes_read_);
    if (behind == python_numbers_.begin() || std::prev(behind)->first + 2 < bytes_read_) return add(value);
    return add(std::prev(behind)->second);
  }
  bool number_float(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // a JSON text has no binary values

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    Level& level = open_.back();
    const std::size_t end = std::min(bytes_read_, source_.text().size());
    const std::size_t start = opening_quote(source_.text(), end);
    if (!level.keys.insert(key).second) {
      throw source_.error(start, fmt::format("duplicate key {}", quote(key)), "remove one of them");
    }
    if (level.keys.size() > max_keys) throw source_.error(start, fmt::format("an object of more than {} keys", max_keys));
    level.key = key;
    const auto is_object = [](const Level& each) { return each.value->is_object(); };
    if (open_.size() > deepest_place || !std::all_of(open_.begin(), open_.end(), is_object)) return true;
    std::string path;
    for (const Level& each : open_) path += (path.empty() ? "" : "/") + each.key;
    const std::size_t colon = skip_blanks(source_.text(), end);
    places_[path] = {.key = start, .value = skip_blanks(source_.text(), colon + 1)};
    return true;
  }

  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) == nullptr) {
      throw source_.error(byte == 0 ? 0 : byte - 1, "not valid JSON", hint_);
    }
    const std::string& text = source_.text();
    const std::size_t start = number_start(text, bytes_read_);
    const std::size_t length = text.find_first_of(" \t\r\n,]}", start) - start;
    throw source_.error(start, fmt::format("{} is too large", quote(std::string_view(text).substr(start, length))));
  }

 private:
  /// An object or list that is being read.
  struct Level {
    Json* value;
    std::set<std::string> keys{};
    std::string key{};  ///< key of the value that is being read
  };

  /// Stores a value in its container. Only the innermost open container grows, so references to the other containers stay
  /// valid.
  Json& put(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Level& level = open_.back();
    if (level.value->is_array()) return level.value->get_ref<Json::array_t&>().emplace_back(std::move(value));
    return level.value->get_ref<Json::object_t&>().Container::emplace_back(level.key, std::move(value)).second;
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == max_depth) {
      throw source_.error(bytes_read_ - 1, fmt::format("nested deeper than {} levels", max_depth),
                          "look for brackets that are not closed");
    }
    Json& placed = put(std::move(value));
    open_.push_back({.value = &placed});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const SourceText& source_;
  std::map<std::string, Offsets, std::less<>>& places_;
  const std::string& hint_;
  PythonNumbers python_numbers_;
  std::size_t bytes_read_ = 0;
  Json root_;
  std::vector<Level> open_;
};

JsonSource::JsonSource(std::string text, std::string origin, const std::string& hint, JsonNumbers numbers)
    : source_(std::move(text), std::move(origin)) {
  if (skip_blanks(source_.text(), 0) == source_.text().size()) throw source_.error(0, "the file is empty", hint);
  places_[""] = {.key = skip_blanks(source_.text(), 0), .value = skip_blanks(source_.text(), 0)};
  root_ = Reader(source_, places_, hint).read(numbers);
}

JsonSource::Offsets JsonSource::place_of(std::string_view path) const {
  while (true) {
    const auto found = places_.find(path);
    if (found != places_.end()) return found->second;
    const std::size_t slash = path.rfind('/');
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
}

Error JsonSource::error(std::string_view path, std::string_view message, std::string hint) const {
  return source_.error(place_of(path).value, message, std::move(hint));
}

Error JsonSource::error_at_key(std::string_view path, std::string_view message, std::string hint) const {
  return source_.error(place_of(path).key, message, std::move(hint));
}

}  // namespace ddl
