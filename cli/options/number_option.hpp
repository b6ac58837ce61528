#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/parser_fwd.hpp"

namespace ddl {

/// An option that takes a whole number in [low, high], written in digits and nothing else. Another value ends the command
/// with an Error that names the option and the range.
CLI::Option* add_whole_number(CLI::App& command, const std::string& name, std::optional<std::int64_t>& into,
                              std::int64_t low, std::int64_t high, const std::string& description);

/// The same for any finite number in [low, high], with a point and an exponent as in JSON.
CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<double>& into, double low, double high,
                        const std::string& description);

}  // namespace ddl
