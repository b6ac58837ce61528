#pragma once

#include <string>

#include "model_zoo/importers/onnx/network.hpp"

namespace ddl::onnx_import {

/// The first lines of a model file.
struct Heading {
  std::string name, description, source;
};

/// Returns the network as a model file with one layer per line.
[[nodiscard]] std::string model_file(const Heading& heading, const Network& network);

}  // namespace ddl::onnx_import
