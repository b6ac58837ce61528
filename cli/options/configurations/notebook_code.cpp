#include "cli/options/configurations/notebook_code.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// Returns the offset after a text in JSON that begins at `at`, with its quotes.
std::size_t end_of_text(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

void append_letter(unsigned code, std::string& text) {
  constexpr unsigned one = 0x80, two = 0x800, three = 0x10000, tail = 0x3F;
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < one) return add(code);
  if (code < two) {
    add(0xC0 | (code >> 6U));
  } else if (code < three) {
    add(0xE0 | (code >> 12U));
    add(one | ((code >> 6U) & tail));
  } else {
    add(0xF0 | (code >> 18U));
    add(one | ((code >> 12U) & tail));
    add(one | ((code >> 6U) & tail));
  }
  add(one | (code & tail));
}

/// Returns the number of four hexadecimal digits in a valid text of JSON.
unsigned hexadecimal(std::string_view json, std::size_t at) {
  constexpr std::size_t digits = 4;
  constexpr int sixteen = 16;
  unsigned code = 0;
  const std::string_view text = json.substr(std::min(at, json.size()), digits);
  std::from_chars(text.data(), text.data() + text.size(), code, sixteen);
  return code;
}

/// Appends a text of JSON, from `at` to `end`, to a cell.
void append_text(std::string_view json, std::size_t at, std::size_t end, CodeCell& cell) {
  constexpr std::string_view letters = "nrtbf", meanings = "\n\r\t\b\f";
  constexpr unsigned high = 0xD800, low = 0xDC00, beyond = 0xE000, first_pair = 0x10000;
  constexpr std::size_t escape = 6;
  cell.pieces.emplace_back(cell.code.size(), at + 1);
  for (++at; at + 1 < end;) {
    if (json[at] != '\\') {
      cell.code += json[at++];
      continue;
    }
    const char kind = json[at + 1];
    if (kind == 'u') {
      unsigned code = hexadecimal(json, at + 2);
      at += escape;
      if (code >= high && code < low && json.substr(at, 2) == "\\u") {
        const unsigned second = hexadecimal(json, at + 2);
        if (second >= low && second < beyond) {
          code = first_pair + ((code - high) << 10U) + (second - low);
          at += escape;
        }
      }
      append_letter(code, cell.code);
    } else {
      const std::size_t letter = letters.find(kind);
      cell.code += letter == std::string_view::npos ? kind : meanings[letter];
      at += 2;
    }
    cell.pieces.emplace_back(cell.code.size(), at);
  }
}

/// Turns lines for the shell and for IPython itself into comments. Removes all lines of cells in other languages.
void drop_commands(std::string& code) {
  constexpr std::array<std::string_view, 4> of_python{"%%capture", "%%prun", "%%time", "%%timeit"};
  const std::size_t end_of_word = std::min(code.find_first_of(" \t\r\n"), code.size());
  if (code.starts_with("%%") && !contains(of_python, std::string_view(code).substr(0, end_of_word))) code.clear();
  bool goes_on = false;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const std::size_t first = code.find_first_not_of(" \t", at);
    const bool is_command = goes_on || (first < end && (code[first] == '!' || code[first] == '%'));
    goes_on = is_command && end > at && code[end - 1] == '\\';
    if (is_command && first < end) code[first] = '#';
    at = end + 1;
  }
}

/// Returns the code with spaces in place of strings and comments.
std::string without_texts(std::string code) {
  for (std::size_t at = 0; at < code.size();) {
    const char quote = code[at];
    if (quote != '#' && quote != '"' && quote != '\'') {
      ++at;
      continue;
    }
    std::size_t end = std::min(code.find('\n', at), code.size());
    if (quote != '#') {
      const std::size_t length = code.compare(at, 3, std::string(3, quote)) == 0 ? 3 : 1;
      const std::string closing(length, quote);
      for (end = at + length; end < code.size() && code.compare(end, length, closing) != 0; ++end) {
        if (length == 1 && code[end] == '\n') break;
        if (code[end] == '\\') ++end;
      }
      end = std::min(end + length, code.size());
    }
    for (; at < end; ++at) code[at] = code[at] == '\n' ? '\n' : ' ';
  }
  return code;
}

/// Returns the code of a notebook. `text` must be valid JSON.
std::vector<CodeCell> cells_of(std::string_view text) {
  constexpr std::size_t in_notebook = 1, in_list = 2, in_cell = 3, in_source = 4;
  std::vector<CodeCell> cells;
  CodeCell cell;
  std::string_view section, key;
  bool is_code = false;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = end_of_text(text, at);
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      const std::string_view inside = text.substr(at + 1, end - at - 2);
      if (next != std::string_view::npos && text[next] == ':') {
        if (depth == in_notebook) section = inside;
        if (depth == in_cell) key = inside;
      } else if (section == "cells" && (depth == in_cell || depth == in_source)) {
        if (key == "source") append_text(text, at, end, cell);
        if (key == "cell_type" && depth == in_cell) is_code = inside == "code";
      }
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c == '}' && depth == in_list && section == "cells") {
      if (is_code) {
        drop_commands(cell.code);
        cell.bare = without_texts(cell.code);
        cells.push_back(std::move(cell));
      }
      cell = {};
      is_code = false;
      key = {};
    }
    ++at;
  }
  return cells;
}

}  // namespace

std::size_t CodeCell::place_of(std::size_t offset) const {
  const auto next = std::upper_bound(pieces.begin(), pieces.end(), offset,
                                     [](std::size_t at, const auto& piece) { return at < piece.first; });
  if (next == pieces.begin()) return 0;
  return (next - 1)->second + (offset - (next - 1)->first);
}

std::vector<CodeCell> notebook_code(const std::string& text, const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("cells") || !json["cells"].is_array()) {
    throw Error(fmt::format("{} is not a notebook: it has no list 'cells'", quote(path)),
                "set model and plan by options: recommend MODEL --gpus N");
  }
  return cells_of(text);
}

}  // namespace ddl
