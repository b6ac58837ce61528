#pragma once

#include <string>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/shell_text.hpp"

namespace ddl {

/// Returns the refusal of a program that a script runs. `entry`: its position.
[[nodiscard]] Refusal refusal_of(const PlacedText& program, const OtherProgram& other, const ConfigEntry& entry);

/// Throws Error if the file is a program in Python or an ONNX file.
void refuse_program(const std::string& path);
/// Throws Error if a text that is not valid YAML is a template, or describes jobs of a cluster.
void refuse_unparsed(const std::string& text, const std::string& path);
/// Returns a hint about a file that is no configuration of a tool: a file that another command reads, or a script that
/// launches another script or an unknown program; empty for other files.
[[nodiscard]] std::string hint_of_another(const std::string& path);

}  // namespace ddl
