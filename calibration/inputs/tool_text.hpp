#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A part of a tool's output without spaces and frames of tables at its ends.
[[nodiscard]] std::string_view tool_text(std::string_view text);
/// The parts between signs, each without spaces and frames at its ends.
[[nodiscard]] std::vector<std::string_view> tool_parts(std::string_view text, char sign);
[[nodiscard]] std::vector<std::string_view> tool_parts(std::string&& text, char sign) = delete;  // parts would outlive it
/// The words that spaces separate.
[[nodiscard]] std::vector<std::string_view> words_in(std::string_view line);
/// The number at the start of a text, from zero on; empty if there is none.
[[nodiscard]] std::optional<double> tool_number(std::string_view text);
/// Removes the codes by which nvidia-smi underlines the first line of its table.
[[nodiscard]] std::string without_escape_codes(std::string_view text);

}  // namespace ddl
