#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/expanded_yaml.hpp"

namespace ddl {

/// A word of a command, or the text of a command line.
struct JobText {
  std::string text;
  std::size_t line = 0;   ///< the line of the job on which the text begins, counted from 0
  bool is_block = false;  ///< whether each line of the text is a line of the job, as after `key: |`
  bool is_shell = false;  ///< whether a shell splits the text into words
};

/// The variables that a job sets for one command.
struct JobVariables {
  std::set<std::string> names;
  std::string assigned;  ///< the variables whose values are known, as a shell assigns them: ` N=8 M=2`
};

/// Builds a script from the commands of a cluster's job. Every line stays in the place that it has in the job.
class ClusterScript {
 public:
  explicit ClusterScript(const std::string& job);

  /// Begins the document whose first line is `first`, counted from 0. Nodes of a document count lines from its first line.
  void begin_document(std::size_t first) { first_ = first; }

  /// Returns the text of a value. A text of several lines is returned as in the job, so that line numbers stay correct.
  [[nodiscard]] JobText text_of(const ExpandedNode& value) const;
  /// The line on which a value begins, counted from 0. The value of `key: |` begins on the next line.
  [[nodiscard]] std::size_t line_of(const ExpandedNode& value) const;

  /// Adds a text that a shell reads, one line below the other. Returns false if it is empty, or was added before.
  bool add_text(const JobText& script, const JobVariables& variables);
  /// Adds a command that no shell reads, except that of `bash -c`. Returns false if it is empty, or was added before.
  bool add_words(std::vector<JobText> words, const JobVariables& variables);
  /// Adds a command at the start of the document.
  void add_first(const std::string& command);
  /// Adds a directive of a batch system on an empty line, `line` if possible.
  void add_directive(std::size_t line, const std::string& directive);

  /// Returns the script; empty if the job starts no command.
  [[nodiscard]] std::optional<std::string> script() const;

 private:
  [[nodiscard]] bool is_block(const ExpandedNode& value) const;
  void begin_command(std::size_t line, const JobVariables& variables);
  void put(std::size_t line, const std::string& text);

  std::vector<std::string> raw_, lines_;
  std::size_t first_ = 0;
  std::set<std::string> seen_;  ///< the commands, which several containers may share
};

/// The text of a value; empty if the value is not a text.
[[nodiscard]] std::string scalar_text(const ExpandedNode& value);
/// A word as a shell reads it. Kubernetes replaces `$(NAME)` by the variable of the container.
[[nodiscard]] std::string shell_word(std::string_view text, const std::set<std::string>& names);

}  // namespace ddl
