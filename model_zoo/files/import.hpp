#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

/// The user's options for an import.
struct ImportOptions {
  bool allow_unknown = false;  ///< whether unsupported parts become warnings, if the rest can still be a model
  std::string name{};          ///< name of the model; empty: the name in the file
  /// The sizes of one sample of the model's input, for a file with dynamic sizes; empty if the file fixes all sizes. If the
  /// list is one size longer than needed, its first size is the batch, which is ignored.
  std::vector<std::int64_t> input_shape{};
};

/// A model from a file of another program, converted to a model file of this program.
struct Import {
  std::string model_file;             ///< text for `parse_model`
  std::vector<std::string> warnings;  ///< warnings about what was omitted or assumed, one line each
};

}  // namespace ddl
