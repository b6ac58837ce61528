#include <array>
#include <string_view>

#include "cli/tools/network_of.hpp"
#include "core/find.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {

bool is_torchvision_model(const Study& study) {
  // Bundled models that torchvision.models.list_models() lists with an equal number of parameters
  // [torchvision 0.29]. Detectors are left out, because their samples are not images with a class.
  static constexpr std::array<std::string_view, 59> names{"alexnet",
                                                          "convnext_base",
                                                          "convnext_large",
                                                          "convnext_small",
                                                          "convnext_tiny",
                                                          "densenet121",
                                                          "densenet161",
                                                          "densenet169",
                                                          "densenet201",
                                                          "efficientnet_b0",
                                                          "efficientnet_b1",
                                                          "efficientnet_b2",
                                                          "efficientnet_b3",
                                                          "efficientnet_b4",
                                                          "efficientnet_b5",
                                                          "efficientnet_b6",
                                                          "efficientnet_b7",
                                                          "efficientnet_v2_s",
                                                          "googlenet",
                                                          "inception_v3",
                                                          "mnasnet0_5",
                                                          "mnasnet0_75",
                                                          "mnasnet1_0",
                                                          "mnasnet1_3",
                                                          "mobilenet_v2",
                                                          "mobilenet_v3_large",
                                                          "mobilenet_v3_small",
                                                          "regnet_y_400mf",
                                                          "regnet_y_8gf",
                                                          "resnet101",
                                                          "resnet152",
                                                          "resnet18",
                                                          "resnet34",
                                                          "resnet50",
                                                          "resnext101_32x8d",
                                                          "resnext101_64x4d",
                                                          "resnext50_32x4d",
                                                          "shufflenet_v2_x0_5",
                                                          "shufflenet_v2_x1_0",
                                                          "shufflenet_v2_x1_5",
                                                          "shufflenet_v2_x2_0",
                                                          "squeezenet1_0",
                                                          "squeezenet1_1",
                                                          "swin_b",
                                                          "swin_s",
                                                          "swin_t",
                                                          "vgg11",
                                                          "vgg11_bn",
                                                          "vgg13",
                                                          "vgg13_bn",
                                                          "vgg16",
                                                          "vgg16_bn",
                                                          "vgg19",
                                                          "vgg19_bn",
                                                          "vit_b_16",
                                                          "vit_b_32",
                                                          "vit_l_16",
                                                          "wide_resnet101_2",
                                                          "wide_resnet50_2"};
  return !is_path(study.spec().model) && contains(names, study.model().name);
}

}  // namespace ddl
