#pragma once

#include <vector>

#include "estimator/kernel_time.hpp"
#include "estimator/model_facts.hpp"

namespace ddl {

/// First layer of every stage (and the layer count at the end) when the layers are dealt to `stages` consecutive stages so
/// that the longest serial forward plus backward time is as short as it can be. Cuts fall between blocks where there are
/// enough of them, else before layers with weights; every stage has a layer with weights. Empty when there are fewer of
/// those than stages.
[[nodiscard]] std::vector<int> balanced_stages(const ModelFacts& facts, const std::vector<LayerTimes>& serial, int stages);

}  // namespace ddl
