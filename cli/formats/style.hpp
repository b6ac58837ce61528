#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Emphasis for terminals; plain text everywhere else.
class Style {
 public:
  explicit Style(bool colored) : colored_(colored) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return wrap("2", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    if (!colored_) return std::string(text);
    std::string out = "\033[";
    out.append(code).append("m").append(text).append("\033[0m");
    return out;
  }
  bool colored_;
};

}  // namespace ddl
