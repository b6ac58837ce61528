#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

/// The user's options for an import.
struct ImportOptions {
  bool allow_unknown = false;  ///< whether unsupported parts become warnings, if the rest is still a model
  std::string name{};          ///< name of the model; empty: the name in the file
  /// The sizes of one sample of the model's input, for a file that leaves some sizes open; empty if the file gives all
  /// sizes. If the list has one size too many, its first size is the batch, and is ignored.
  std::vector<std::int64_t> input_shape{};
};

/// A model from a file of another program, converted to our model file.
struct Import {
  std::string model_file;             ///< text for `parse_model`
  std::vector<std::string> warnings;  ///< warnings about what was omitted or assumed, one line each
};

}  // namespace ddl
