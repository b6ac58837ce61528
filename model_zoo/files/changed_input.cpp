#include "model_zoo/files/changed_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/files/onnx_file.hpp"

namespace ddl {
namespace {

/// The separator of sizes: "x" in `224x224`, " x " in `$height x $width`.
std::string_view times_in(std::string_view extents) { return extents.find('$') == std::string_view::npos ? "x" : " x "; }

std::vector<std::string> factors_of(const std::string& extents) {
  const std::string_view times = times_in(extents);
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= extents.size();) {
    const std::size_t end = std::min(extents.find(times, at), extents.size());
    all.push_back(extents.substr(at, end - at));
    at = end + times.size();
  }
  return all;
}

/// Whether a text is the value of one parameter: `$size`.
bool is_parameter(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_0123456789";
  return text.size() > 1 && text.front() == '$' && text.find_first_not_of(letters, 1) == std::string_view::npos;
}

void set_parameter(ModelFile& file, const std::string& name, std::int64_t value, const YamlNode& sizes) {
  const YamlNode parsed = YamlNode::parse(fmt::format("{{{}: {}}}", name, value), sizes.origin());
  const auto [key, number] = parsed.entries().front();
  const auto found = std::find_if(file.parameters.begin(), file.parameters.end(),
                                  [&](const ModelParameter& one) { return one.name.text() == name; });
  if (found != file.parameters.end()) {
    found->value = number;
  } else {
    file.parameters.push_back({.name = key, .value = number});
  }
}

}  // namespace

void change_input(ModelFile& file, const std::optional<YamlNode>& stated, const YamlNode& sizes, const YamlNode& values) {
  const auto channels = stated ? stated->find("channels") : std::nullopt;
  const auto extents = stated ? stated->find("size") : std::nullopt;
  if (!channels || !extents) {
    sizes.fail(fmt::format("{} has no images or volumes as its input", file.model->text()),
               "--seq sets the tokens of a sequence model");
  }
  std::vector<std::string> before = factors_of(extents->text());
  before.insert(before.begin(), channels->text());
  const std::string shown = channels->text() + std::string(times_in(extents->text())) + extents->text();
  const bool has_parameters = shown.find('$') != std::string::npos;
  constexpr std::string_view set_them = "set these parameters, as in NAME@size=512";
  const std::vector<std::int64_t> wanted = parse_input_shape("@input", sizes.text());
  if (wanted.size() != before.size())
    sizes.fail(
        fmt::format("{} has another number of sizes than the input of {}, {}", sizes.text(), file.model->text(), shown),
        has_parameters ? std::string(set_them) : "");
  std::map<std::string, std::int64_t> parameters;
  std::vector<std::string> after;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!is_parameter(before[i])) {
      if (before[i].find('$') != std::string::npos)
        sizes.fail(fmt::format("the input of {} follows from its parameters: {}", file.model->text(), shown),
                   std::string(set_them));
      after.push_back(fmt::format("{}", wanted[i]));
      continue;
    }
    const auto [same, is_new] = parameters.emplace(before[i].substr(1), wanted[i]);
    if (!is_new && same->second != wanted[i])
      sizes.fail(fmt::format("some sizes of the input of {} are equal: {}", file.model->text(), shown),
                 "use the same number for these sizes");
    after.push_back(before[i]);
  }
  for (const auto& [name, value] : parameters) {
    if (values.find(name))
      sizes.fail(fmt::format("{2} is set twice: the input of {0} is {1} already", file.model->text(), shown, name),
                 "leave out one of them");
    set_parameter(file, name, value, sizes);
  }
  file.input = YamlNode::parse(fmt::format("{{channels: {}, size: {}}}", after.front(),
                                           fmt::join(after.begin() + 1, after.end(), times_in(extents->text()))),
                               sizes.origin());
}

}  // namespace ddl
