#include "model_zoo/importers/onnx/names.hpp"

#include <algorithm>
#include <vector>

#include "model_zoo/importers/onnx/network.hpp"

namespace ddl::onnx_import {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the name of the module in a weight's name; empty for a generated name, such as `onnx::MatMul_448`.
std::string module_of(const std::string& weight) {
  if (weight.starts_with("onnx::") || std::all_of(weight.begin(), weight.end(), is_digit)) return {};
  for (const std::string_view end : {"_weight", "_bias"}) {
    if (weight.ends_with(end)) return plain_name(std::string_view(weight).substr(0, weight.size() - end.size()));
  }
  const std::size_t dot = weight.find_last_of("./");
  return dot == std::string::npos ? std::string() : plain_name(std::string_view(weight).substr(0, dot));
}

/// Returns whether an element of a path is only the operator's name: `Conv`, `Add_3`.
bool names_operator(std::string_view step, std::string_view operation) {
  if (!step.starts_with(operation)) return false;
  step.remove_prefix(operation.size());
  if (step.starts_with('_')) step.remove_prefix(1);
  return std::all_of(step.begin(), step.end(), is_digit);
}

std::string path_of(const onnx::NodeProto& node) {
  std::vector<std::string_view> steps;
  const std::string_view name = node.name();
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (end > at) steps.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (!steps.empty() && names_operator(steps.back(), node.op_type())) steps.pop_back();
  // An element of a path is left out if the next element repeats it, as in `layer1/layer1.0`.
  std::string path;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string start = std::string(steps[i]) + '.';
    if (i + 1 < steps.size() && steps[i + 1].starts_with(start)) continue;
    path += '.';
    path += steps[i];
  }
  return plain_name(path);
}

}  // namespace

std::string layer_name(const onnx::NodeProto& node, const std::string& weight, std::string_view stem) {
  if (std::string module = module_of(weight); !module.empty()) return module;
  std::string path = path_of(node);
  if (path.empty()) return std::string(stem);
  if (path.find(stem) == std::string::npos) path.append("_").append(stem);
  return path;
}

}  // namespace ddl::onnx_import
