#include "model_zoo/files/bundled_name.hpp"

namespace ddl {

bool is_path(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return true;
  // A model's name may end with changes of its parameters: `net.onnx@input=3x640x640`.
  for (const std::string_view file : {name, name.substr(0, name.find('@'))}) {
    for (const std::string_view ending : {".yaml", ".yml", ".onnx", ".json"}) {
      if (file.ends_with(ending)) return true;
    }
  }
  return false;
}

std::string name_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      key += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      key += c;
    }
  }
  return key;
}

}  // namespace ddl
