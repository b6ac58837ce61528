#include "model_zoo/operation.hpp"

namespace ddl {

std::string_view to_string(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "backward-data";
    case Pass::backward_weight:
      return "backward-weight";
    case Pass::update:
      return "update";
  }
  return "";
}

}  // namespace ddl
