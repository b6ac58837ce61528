#pragma once

#include "core/enum_array.hpp"

namespace ddl {

/// What decodes the images of a data set: a library on the cores of the host, or the device. Pillow is used in processes, as
/// by torchvision; OpenCV and TensorFlow in threads, as by MXNet and tf.data.
enum class ImageLoader { pillow, opencv, tensorflow, device };
inline constexpr EnumNames<ImageLoader> image_loader_names{"pillow", "opencv", "tensorflow", "device"};

/// A policy of random operations that change each image after its crop [Cubuk et al., "AutoAugment", CVPR 2019;
/// "RandAugment", NeurIPS 2020].
enum class Augmentation { none, autoaugment, randaugment };
inline constexpr EnumNames<Augmentation> augmentation_names{"none", "autoaugment", "randaugment"};

}  // namespace ddl
