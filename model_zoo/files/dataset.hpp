#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// The facts about a data set that affect training time: the number of samples, and the size of a
/// sample in memory and on disk.
struct Dataset {
  std::string name;
  std::string description;
  std::string source;
  std::int64_t samples = 0;
  TensorShape sample;  ///< shape of a sample as fed to a network; a sample of tokens is a sequence
  std::int64_t samples_per_file = 1;
  std::int64_t image_pixels = 0;  ///< pixels of an encoded image on average; 0: samples are not encoded
  std::string task;               ///< kind of the models that train on it by default; empty: any
  Bytes size_on_disk{};           ///< bytes on disk of all samples together
  [[nodiscard]] Bytes sample_bytes() const { return size_on_disk / static_cast<double>(samples); }
};

[[nodiscard]] std::vector<std::string> dataset_names();
/// Loads a bundled data set by name (case and published spellings are normalized), or the user's
/// own file. Throws Error with "did you mean" for an unknown name.
[[nodiscard]] Dataset load_dataset(const std::string& name);
[[nodiscard]] Dataset parse_dataset(std::string text, std::string origin);

}  // namespace ddl
