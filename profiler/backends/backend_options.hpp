#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// How images lie in the memory of a device that can have it either way.
enum class ImageLayout { channels_last, channels_first };
[[nodiscard]] std::string_view to_string(ImageLayout layout);
[[nodiscard]] std::optional<ImageLayout> parse_image_layout(std::string_view text);

/// Which of the algorithms that a library offers for a problem is measured.
enum class AlgorithmPreference {
  fastest,    ///< of those tried
  smallest,   ///< the one that needs least workspace
  first,      ///< what the library itself would choose, untried
  framework,  ///< as PyTorch with its benchmark on: the first of matrix products, the fastest of everything else
};
[[nodiscard]] std::string_view to_string(AlgorithmPreference preference);
[[nodiscard]] std::optional<AlgorithmPreference> parse_algorithm_preference(std::string_view text);

/// What a user may say about the device. A back end passes over what its device does not have.
struct BackendOptions {
  int threads = 1;                                                 ///< of a processor
  int device = 0;                                                  ///< which of the devices of this node, from 0
  ImageLayout layout = ImageLayout::channels_last;                 ///< of a GPU
  AlgorithmPreference algorithm = AlgorithmPreference::framework;  ///< of a GPU
  std::string blas{};       ///< of a processor: the library that does matrix products, in place of the back end's own
  std::string simulated{};  ///< figures of a device that does not exist (parse_simulated_device)
};

}  // namespace ddl
