#pragma once

#include <string_view>

namespace ddl {

/// Whether a text is the code of a currency that is in use [ISO 4217:2015, list one].
[[nodiscard]] bool is_currency(std::string_view text);

}  // namespace ddl
