#include "cli/options/row_filters.hpp"

#include <fmt/format.h>

#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

std::vector<RowFilter> row_filters(std::string_view option, const std::vector<std::string>& texts) {
  std::vector<RowFilter> filters;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) {
      throw Error(fmt::format("{}: {} is not a condition", option, quote(text)),
                  fmt::format("use for example {} gpu=A100-SXM4-80GB,H100-SXM5-80GB", option));
    }
    filters.emplace_back(text.substr(0, sign), comma_separated(text.substr(sign + 1)));
  }
  return filters;
}

}  // namespace ddl
