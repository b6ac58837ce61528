#include "core/file_format.hpp"

#include <optional>

#include <fmt/format.h>

namespace ddl {

void check_format(const YamlNode& root) {
  constexpr std::int64_t known = 1;
  const std::optional<YamlNode> format = root.find("format");
  if (!format) root.fail("the key 'format' is missing", fmt::format("add 'format: {}'", known));
  const std::int64_t number = format->integer();
  if (number == known) return;
  if (number > known) {
    format->fail(fmt::format("format {} needs a newer version of ddl-oracle: this version reads format {}", number, known));
  }
  format->fail(fmt::format("format {} is not known", number), fmt::format("this version reads format {}", known));
}

}  // namespace ddl
