#include "profiler/backend_options.hpp"

namespace ddl {
namespace {

template <class Choice>
std::optional<Choice> parse_choice(std::string_view text, Choice first, Choice second) {
  if (text == to_string(first)) return first;
  if (text == to_string(second)) return second;
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
  return parse_choice(text, ImageLayout::channels_last, ImageLayout::channels_first);
}

std::string_view to_string(AlgorithmPreference preference) {
  switch (preference) {
    case AlgorithmPreference::fastest:
      return "fastest";
    case AlgorithmPreference::smallest:
      return "smallest";
  }
  return "";
}

std::optional<AlgorithmPreference> parse_algorithm_preference(std::string_view text) {
  return parse_choice(text, AlgorithmPreference::fastest, AlgorithmPreference::smallest);
}

}  // namespace ddl
