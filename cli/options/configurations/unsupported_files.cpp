#include "cli/options/configurations/unsupported_files.hpp"

#include <string_view>

#include <fmt/format.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "core/source_text.hpp"

namespace ddl {

void refuse_program(const std::string& path) {
  if (!path.ends_with(".py")) return;
  const std::string text = read_file(path, max_configuration_file_bytes);
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  constexpr const char* hint = "give model and plan as options: recommend MODEL --gpus N, or give the launch script";
  if (says("torchtitan")) {
    throw Error(fmt::format("{} is a configuration of torchtitan in Python, which is not read", quote(path)),
                "write its values as TOML, as torchtitan up to 0.2 reads them: [parallelism] tensor_parallel_degree = 2");
  }
  if (says("nemo.collections") || says("megatron.bridge"))
    throw Error(fmt::format("{} is a recipe of NeMo in Python, which is not read", quote(path)), hint);
  throw Error(fmt::format("{} is a program in Python, no configuration", quote(path)), hint);
}

std::string hint_of_another(const std::string& path) {
  const std::string text = read_file(path, max_configuration_file_bytes);
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  switch (language_of(text)) {
    case ConfigurationLanguage::yaml:
      if (says("format:") && says("plan:"))
        return fmt::format("it is a job file: 'ddl-oracle check {}' reads it", visible(path));
      break;
    case ConfigurationLanguage::json:
      if (says("\"schema\"") && says("\"inputs\""))
        return fmt::format("it is an answer of this program: 'ddl-oracle explain --plan {}' reads it", visible(path));
      break;
    case ConfigurationLanguage::script:
      for (const std::string& skipped : read_shell_script(text, path, {}).skipped) {
        const std::size_t words = skipped.find(": it launches ");
        if (words != std::string::npos) return skipped.substr(words + 2);
      }
      break;
    case ConfigurationLanguage::toml:
      break;
  }
  return {};
}

}  // namespace ddl
