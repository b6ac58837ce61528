#include "profiler/backends/backend_options.hpp"

#include <initializer_list>

namespace ddl {
namespace {

template <class Choice>
std::optional<Choice> parse_choice(std::string_view text, std::initializer_list<Choice> choices) {
  for (const Choice choice : choices) {
    if (text == to_string(choice)) return choice;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ImageLayout layout) {
  switch (layout) {
    case ImageLayout::channels_last:
      return "channels-last";
    case ImageLayout::channels_first:
      return "channels-first";
  }
  return "";
}

std::optional<ImageLayout> parse_image_layout(std::string_view text) {
  return parse_choice(text, {ImageLayout::channels_last, ImageLayout::channels_first});
}

std::string_view to_string(AlgorithmPreference preference) {
  switch (preference) {
    case AlgorithmPreference::fastest:
      return "fastest";
    case AlgorithmPreference::smallest:
      return "smallest";
    case AlgorithmPreference::first:
      return "first";
    case AlgorithmPreference::framework:
      return "framework";
  }
  return "";
}

std::optional<AlgorithmPreference> parse_algorithm_preference(std::string_view text) {
  return parse_choice(text, {AlgorithmPreference::fastest, AlgorithmPreference::smallest, AlgorithmPreference::first,
                             AlgorithmPreference::framework});
}

}  // namespace ddl
