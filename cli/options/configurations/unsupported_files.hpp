#pragma once

#include <string>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/shell_text.hpp"

namespace ddl {

/// Returns the refusal of a program that a script runs. `entry`: its position.
[[nodiscard]] Refusal refusal_of(const PlacedText& program, const OtherProgram& other, const ConfigEntry& entry);

/// Throws Error if the text has the marks of a tool whose configurations are not read.
void refuse_foreign(const ConfiguredText& text, const std::string& path);
/// Throws Error if the file is a program in Python or an ONNX file.
void refuse_program(const std::string& path);
/// Throws Error if a text that is not a single YAML document is a template, or describes jobs of a cluster.
void refuse_unparsed(const std::string& text, const std::string& path);
/// Refuses the tool's default sizes of the model if the missing file `named` may set other sizes. `named` is not the file of
/// the defaults.
void refuse_default_sizes(Configuration& read, const Fact& named);
/// Throws Error if a configuration of an unknown tool has an argument that is refused or, if the user gave this file, names
/// a file that was not found, because only that file shows the tool.
void refuse_unrecognized(const Configuration& read, bool is_given);
/// Returns a hint about a file that is not a configuration of a tool: a file that another command reads, or a script that
/// launches another script or an unknown program; empty for other files. Throws Error if the file is invalid YAML.
[[nodiscard]] std::string hint_of_another(const std::string& path);

}  // namespace ddl
