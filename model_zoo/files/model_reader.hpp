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
//   add, concat, multiply  {branches: [[...], [...]]}: each branch from the same input, then joined; an empty one is the
//   input.
// Besides, an item may have
//   name: the layer's name, or that of the part of the network it stands for;
//   from: the layer it reads, or a list of layers, instead of the previous one; `input` is the model's input;
//   when: a condition; the item is left out if it is false.
//   auxiliary: yes, for what only training needs, such as a second classifier: published multiply-adds leave it out.
//
// Expressions: a value with a `$` is computed from whole numbers, `$parameters`, + - * / (without remainder) %, parentheses,
// == != < <= > >=, `and`, `or`. `$channels` is the channels of the tensor that the item reads.
//
// Names. A layer's full name is a path, such as `stage1.bottleneck0.conv2`. A named item and every block make a step of it;
// an unnamed repeat, residual or branch makes none. Instances of an unnamed block are numbered from 0 by the block's name,
// rounds of a named repeat from 0 by its name, unnamed layers from 1 by their kind: conv1, relu1. `from` looks for a name in
// its own step of the path, then in the enclosing ones; a step's name stands for its output. A layer can only read layers
// before it.
//
// Units of checkpointing (Layer::block): each instance of a block with `checkpoint: yes`, and each residual; of those inside
// one another the outermost.
//
// A family is a file with `family: name` instead of `model:`, whose parameters may lack values. A model with `family: name`
// gives them, and may replace `input`; the name is bundled, or a path from the model's own file.

/// Expands a file into a network: names, shapes, parameters, classes. `family` is the file with the layers, if that is not
/// `file`.
[[nodiscard]] Model build_model(const ModelFile& file, const ModelFile* family);

/// Limits of the expansion of a file.
inline constexpr int max_layers = 100'000;
inline constexpr int max_nesting = 64;
inline constexpr int max_repeat = 10'000;

}  // namespace ddl
