#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "cli/report/formats/format.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/not_finite.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace ddl {

/// A text as a file, for commands; removed at the end.
class FileOfText {
 public:
  FileOfText(const std::string& text, const std::string& ending)
      : path_((std::filesystem::temp_directory_path() / ("ddl-fuzz-" + std::to_string(::getpid()) + ending)).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  FileOfText(const FileOfText&) = delete;
  FileOfText& operator=(const FileOfText&) = delete;
  ~FileOfText() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Returns whether reports of this input are checked: for one in 32 inputs while a fuzzer searches,
/// because a command with sanitizers takes a hundred times as long as a parser, and for each stored
/// input. The result is always the same for an input.
inline bool is_reported(const std::string& text) {
#ifdef DDL_FUZZES
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16) % 32 == 0;
#else
  return !text.empty();
#endif
}

/// Runs a command line and checks its output in each of the formats. No figure may be missing or not finite, and no terminal
/// control characters may occur. `prose`: texts of the input itself may contain words like nan, and are not checked.
inline void look_at_reports(const std::vector<std::string>& words, const std::vector<std::string>& formats,
                            const std::string& prose) {
  if (!is_reported(prose)) return;
  const auto report = result_of([&] { return run_command(words); });
  if (!report) return;
  const bool says_it_itself = has_figure_not_finite(prose);
  for (const std::string& format : formats) {
    const std::string text = format_named(format).write(*report, Style(false));
    require(says_it_itself || !has_figure_not_finite(text), "a report has a figure that is not a number");
    for (const char c : text)
      require(c == '\n' || c == '\t' || (c != 0x7F && !(c >= 0 && c < 0x20)), "a report has a control character");
  }
}

}  // namespace ddl
