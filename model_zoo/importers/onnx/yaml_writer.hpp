#pragma once

#include <string>

#include "model_zoo/importers/onnx/network.hpp"

namespace ddl::onnx_import {

/// What a model file says of itself.
struct Heading {
  std::string name, description, source;
};

/// The network as a model file, a layer on each line.
[[nodiscard]] std::string model_file(const Heading& heading, const Network& network);

}  // namespace ddl::onnx_import
