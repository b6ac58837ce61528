#pragma once

#include <string>
#include <vector>

namespace ddl {

/// What a user may say about an import.
struct ImportOptions {
  bool allow_unknown = false;  ///< what cannot be read becomes a warning where the rest still makes a model
  std::string name{};          ///< of the model; where empty, the file's own
};

/// A model of another program's file, as a model file of ours.
struct Import {
  std::string model_file;             ///< text for `parse_model`
  std::vector<std::string> warnings;  ///< what was left out or assumed, each one line
};

}  // namespace ddl
