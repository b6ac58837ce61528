#pragma once

#include <string>

#include "cli/options/configurations/configuration.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {

/// Reads a text as a configuration in a file with this ending, and checks what `check` reports about it.
inline void look_at_configuration(const std::string& text, const std::string& ending) {
  const FileOfText file(text, ending);
  const auto read = result_of([&] { return recognize_configuration(file.path()); });
  if (!read || !*read) return;
  const auto asked = result_of([&] { return options_of(**read, {}, {}, [](const std::string&) { return false; }); });
  if (asked) require(asked->own.gpus.value_or(0) >= 1, "a plan without devices");
  look_at_reports({"check", file.path()}, {"text", "json"}, text);
}

}  // namespace ddl
