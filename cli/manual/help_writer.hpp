#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/manual/command_description.hpp"
#include "cli/manual/manual.hpp"

namespace ddl {

/// Writes a help page of at most `width` columns: rows with a name and a text, paragraphs, and examples. The brief form has
/// one line for each row, with the first clause of its text.
class HelpWriter {
 public:
  HelpWriter(HelpForm form, std::size_t width) : form_(form), width_(width) {}

  void row(const std::string& name, std::string_view text);
  void line(const std::string& text) { out_ += text + '\n'; }
  void paragraph(const std::string& text);
  void example(const Example& example);
  [[nodiscard]] std::string text() { return std::move(out_); }

 private:
  HelpForm form_;
  std::size_t width_;
  std::string out_;
};

}  // namespace ddl
