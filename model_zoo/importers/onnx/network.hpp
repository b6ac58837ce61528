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

/// A layer of the model file to be written.
struct NetworkLayer {
  std::string operation{};                                        ///< key of the model file
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< as written
  std::vector<int> inputs{};                                      ///< indices of layers, -1 is the model's input
  TensorShape shape{};                                            ///< of its output
  std::string name{};                                             ///< a wish; made unique when added
  std::string weight{};                                           ///< the stored tensor that its matrix is
  bool has_whole_weight = true;                                   ///< not a part of it, as several layers may have one each
  bool removed = false;

  [[nodiscard]] bool has(std::string_view attribute, std::string_view value) const;
  void set(std::string_view attribute, std::string_view value);
};

/// The layers found so far.
struct Network {
  TensorShape input{};
  std::vector<NetworkLayer> layers;
  std::vector<std::string> warnings;

  [[nodiscard]] const TensorShape& shape(int tensor) const {
    return tensor < 0 ? input : layers[static_cast<std::size_t>(tensor)].shape;
  }
  /// Index of the new layer.
  int add(NetworkLayer layer);
  /// The layer of this kind that reads this tensor, added where there is none yet: what several readers need of one tensor.
  int add_once(NetworkLayer layer);
  void rename(int layer, const std::string& wish);
  /// How many layers read a layer's output, each as often as it does.
  [[nodiscard]] int readers(int layer) const { return readers_[static_cast<std::size_t>(layer)]; }
  /// Takes a layer out that nothing reads any more.
  void remove(int layer);
  /// The first embedding with this table; -1 where there is none.
  [[nodiscard]] int embedding_with(const std::string& table) const;
  /// A warning for each stored tensor that several layers have, which counts for each of them. Tied ones do not count.
  [[nodiscard]] std::vector<std::string> warnings_of_shared() const;

 private:
  [[nodiscard]] std::string unique(const std::string& wish);
  std::vector<int> readers_;
  std::unordered_set<std::string> names_{"input"};
  std::map<std::string, int> counters_;
  std::map<std::pair<int, std::string>, int> once_;
  std::unordered_map<std::string, int> embeddings_;           // by table
  std::unordered_map<std::string, std::vector<int>> owners_;  // by weight
};

/// Letters, digits, '_' and '-' of a text; other letters between them become one '_'.
[[nodiscard]] std::string plain_name(std::string_view text);
/// `3x3`, or `3` where all are equal.
[[nodiscard]] std::string extents_text(const std::vector<std::int64_t>& sizes);

}  // namespace ddl::onnx_import
