#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ddl {

/// The code of a notebook's cell.
struct CodeCell {
  std::string code;  ///< lines for the shell and for IPython itself are comments
  std::string bare;  ///< the code, with spaces in place of strings and comments
  /// Texts that the file has letter by letter: where they begin in the code and in the file.
  std::vector<std::pair<std::size_t, std::size_t>> pieces{};

  /// Returns the offset in the file of an offset in the code.
  [[nodiscard]] std::size_t place_of(std::size_t offset) const;
};

/// Returns the cells with Python in a notebook. Throws Error if the text is not a notebook.
[[nodiscard]] std::vector<CodeCell> notebook_code(const std::string& text, const std::string& path);

}  // namespace ddl
