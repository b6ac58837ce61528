#pragma once

#include <string>

#include "core/enum_array.hpp"

namespace ddl {

/// The memory format of images on a device that supports both formats.
enum class ImageLayout { channels_last, channels_first };
template <>
inline constexpr EnumNames<ImageLayout> enum_names<ImageLayout>{"channels-last", "channels-first"};

/// Selects which of the library's algorithms is measured for a problem.
enum class AlgorithmPreference {
  fastest,    ///< the fastest of the algorithms that are tried
  smallest,   ///< the algorithm with the smallest workspace
  first,      ///< the library's first choice; no others are tried
  framework,  ///< as PyTorch's benchmark mode: `first` for matrix products, else `fastest`
};
template <>
inline constexpr EnumNames<AlgorithmPreference> enum_names<AlgorithmPreference>{"fastest", "smallest", "first", "framework"};

/// The user's options for the device. A back end ignores options that its device does not have.
struct BackendOptions {
  int threads = 1;                                                 ///< threads of a CPU
  int device = 0;                                                  ///< index of the device on this node, from 0
  ImageLayout layout = ImageLayout::channels_last;                 ///< for a GPU: the memory format of images
  AlgorithmPreference algorithm = AlgorithmPreference::framework;  ///< for a GPU: the algorithm that is measured
  std::string blas{};       ///< for a CPU: the library for matrix products, in place of the back end's own
  std::string simulated{};  ///< parameters of a simulated device (parse_simulated_device)
};

}  // namespace ddl
