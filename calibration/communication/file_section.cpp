#include "calibration/communication/file_section.hpp"

#include <algorithm>

namespace ddl {

std::string with_section(std::string_view file, std::string_view key, std::string_view section) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t end = std::min(file.find('\n', at), file.size() - 1) + 1;
    const std::string_view line = file.substr(at, end - at);
    at = end;
    const bool is_key = line.find_first_of(" \t\r\n#-") != 0;
    if (is_key) inside = line.starts_with(key);
    if (!inside) out += line;
  }
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out.append(section);
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace ddl
