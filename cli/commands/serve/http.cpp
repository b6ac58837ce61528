#include "cli/commands/serve/http.hpp"

#include <algorithm>
#include <cctype>

namespace ddl {
namespace {

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char one, char other) { return lower(one) == lower(other); });
}

/// Returns the value of a hexadecimal digit; -1 for any other character.
int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = lower(letter);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 && digit_of(text[i + 2]) >= 0) {
      out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return value;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> decoded_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(decoded(pair.substr(0, equals)), decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return pairs;
}

std::string encoded_query_value(std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    // Unreserved characters of RFC 3986 stay unescaped. Some other characters also do, because they
    // are easier to read unescaped.
    if (std::isalnum(byte) != 0 || std::string_view("-._~,@/:").find(letter) != std::string_view::npos) {
      out += letter;
    } else {
      out += '%';
      out += digits[byte / 16];
      out += digits[byte % 16];
    }
  }
  return out;
}

}  // namespace ddl
