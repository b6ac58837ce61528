#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model_zoo/values/tensor_shape.hpp"

namespace ddl::onnx_import {

/// A layer of the model file that is being written.
struct NetworkLayer {
  std::string operation{};                                        ///< the operation's key in model files
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< as written to the model file
  std::vector<int> inputs{};                                      ///< indices of layers, -1 is the model's input
  TensorShape shape{};                                            ///< shape of the layer's output
  std::string name{};                                             ///< preferred name; made unique when the layer is added
  std::string weight{};                                           ///< name of the stored tensor with the layer's matrix
  bool has_whole_weight = true;                                   ///< whether the layer has all of the tensor `weight`
  bool removed = false;

  [[nodiscard]] bool has(std::string_view attribute, std::string_view value) const;
  void set(std::string_view attribute, std::string_view value);
};

/// The layers of the network that were found so far.
struct Network {
  TensorShape input{};
  std::vector<NetworkLayer> layers;
  std::vector<std::string> warnings;

  [[nodiscard]] const TensorShape& shape(int tensor) const {
    return tensor < 0 ? input : layers[static_cast<std::size_t>(tensor)].shape;
  }
  /// Returns the index of the new layer.
  int add(NetworkLayer layer);
  /// Returns the layer with this operation, attributes and first input. If there is no such layer,
  /// it is added, so that several readers of a tensor share the layer.
  int add_once(NetworkLayer layer);
  void rename(int layer, const std::string& wish);
  /// Returns the number of reads of a layer's output. A layer that reads the output twice is counted twice.
  [[nodiscard]] int readers(int layer) const { return readers_[static_cast<std::size_t>(layer)]; }
  /// Removes a layer without readers.
  void remove(int layer);
  /// Returns the index of the first embedding with this table; -1 if there is none.
  [[nodiscard]] int embedding_with(const std::string& table) const;
  /// Returns a warning for each stored tensor whose parameters are counted several times, because
  /// several layers use it. Tied layers cause no warning.
  [[nodiscard]] std::vector<std::string> warnings_of_shared() const;

 private:
  [[nodiscard]] std::string unique(const std::string& wish);
  std::vector<int> readers_;
  std::unordered_set<std::string> names_{"input"};
  std::map<std::string, int> counters_;
  std::map<std::pair<int, std::string>, int> once_;
  std::unordered_map<std::string, int> embeddings_;           // keyed by table
  std::unordered_map<std::string, std::vector<int>> owners_;  // keyed by weight
};

/// Returns the letters, digits, '_' and '-' of a text, with every sequence of other characters
/// between them replaced by one '_'.
[[nodiscard]] std::string plain_name(std::string_view text);
/// Returns sizes as text: `3x3`, or `3` if all sizes are equal.
[[nodiscard]] std::string extents_text(const std::vector<std::int64_t>& sizes);

}  // namespace ddl::onnx_import
