#pragma once

#include "model_zoo/files/model_file.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

// The language of model files. A model is described as in a paper; sizes are inferred.
//
//   format: 1
//   model: tiny
//   description: Three stages of residual blocks        # optional
//   source: The paper                                   # optional
//   input: {channels: 3, size: 32x32}                   # or {features: 100}, or {tokens: 1024}
//   parameters: {width: 16, classes: 10}                # named constants: $width
//   blocks:                                             # parts used by name
//     basic:
//       parameters: {filters: , stride: 1}              # without a value: must be given
//       checkpoint: yes                                 # each instance is a unit of checkpointing
//       layers:
//         - residual:
//             body:
//               - convolution: {filters: $filters, kernel: 3, stride: $stride, padding: 1, bias: no}
//               - norm: batch
//               - activation: relu
//               - convolution: {filters: $filters, kernel: 3, padding: 1, bias: no}
//               - norm: batch
//             shortcut:                                 # empty or absent: the input itself
//               - convolution: {filters: $filters, kernel: 1, stride: $stride, bias: no}
//                 when: $stride != 1 or $channels != $filters
//         - activation: relu
//   layers:
//     - convolution: {filters: $width, kernel: 3, padding: same, bias: no}
//     - repeat:
//         times: 3
//         layers:
//           - block: {use: basic, filters: $width}
//     - block: {use: basic, filters: $width * 2, stride: 2}
//       name: last
//     - concat: {branches: [[{pool: {kind: max, global: yes}}], [{pool: {kind: average, global: yes}}]]}
//     - flatten
//     - fully_connected: $classes
//     - loss: cross_entropy
//
// Each item of `layers` is one operation (operations/registry.cpp lists them with their attributes) or one of
//   repeat    {times, layers}: the layers, repeated this many times;
//   residual  {body, shortcut}, or the body's list alone: the sum of both;
//   block     {use, parameter: value, ...}, or only the block's name;
//   add, concat, multiply  {branches: [[...], [...]]}: all branches read the same input, and then their outputs are joined;
// an empty branch is the input.
// Besides, an item may have
//   name: the name of the layer, or of the part of the network that the item describes;
//   from: the layer that the item reads, or a list of layers, instead of the previous layer; `input` is the model's input;
//   when: a condition; the item is left out if it is false.
//   auxiliary: yes, for layers that only training needs, such as a second classifier: published multiply-adds omit them.
//
// Expressions: a value with a `$` is computed from whole numbers, `$parameters`, + - * / (without remainder) %, parentheses,
// == != < <= > >=, `and`, `or`. `$channels` is the channels of the tensor that the item reads.
//
// Names. A layer's full name is a path, such as `stage1.bottleneck0.conv2`. Each named item and each block adds a step to
// the path; an unnamed repeat, residual or branch adds none. Instances of an unnamed block are numbered from 0 after the
// block's name, rounds of a named repeat from 0 after its name, unnamed layers from 1 after their kind: conv1, relu1. `from`
// looks for a name in the step of its item, then in the enclosing steps; a step's name means the step's output. A layer can
// only read earlier layers.
//
// Units of checkpointing (Layer::block) are each instance of a block with `checkpoint: yes`, and each residual. If units are
// nested, only the outermost one is used.
//
// A family is a file with `family: name` instead of `model:`, whose parameters may lack values. A model with `family: name`
// gives these values, and may replace `input`. The name is that of a bundled family, or a path relative to the model's file.

/// Expands a file into a network: names, shapes, parameters, classes. If `file` belongs to a
/// family, `family` is the family's file, which contains the layers; otherwise `family` is null.
[[nodiscard]] Model build_model(const ModelFile& file, const ModelFile* family);

/// Limits of the expansion of a file.
inline constexpr int max_layers = 100'000;
inline constexpr int max_nesting = 64;
inline constexpr int max_repeat = 10'000;

}  // namespace ddl
