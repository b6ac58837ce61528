#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

/// The user's options for an import.
struct ImportOptions {
  bool allow_unknown = false;  ///< unsupported parts become warnings if the rest still is a model
  std::string name{};          ///< of the model; if empty, the file's own
  /// Sizes of one sample of the model's input, for those that the file leaves open; empty: the file gives them all. With one
  /// size more, the first is the batch, and is ignored.
  std::vector<std::int64_t> input_shape{};
};

/// A model of another program's file, converted to our model file.
struct Import {
  std::string model_file;             ///< text for `parse_model`
  std::vector<std::string> warnings;  ///< what was omitted or assumed, one line each
};

}  // namespace ddl
