#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// The published depth and accuracy of an image classifier. Depth is the number of layers on the longest path, as the
/// publisher counts layers. Top-1 is the accuracy on the validation images of ImageNet.
struct PublishedAccuracy {
  int depth = 0;
  double top1 = 0;
  std::string source;
};

/// Returns the published accuracy of a bundled model; empty if the model has none, or if a parameter is changed.
[[nodiscard]] std::optional<PublishedAccuracy> published_accuracy(std::string_view model);

}  // namespace ddl
