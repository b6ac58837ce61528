#include "cli/options/configurations/shell_script.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/named_files.hpp"
#include "cli/options/configurations/shell_reader.hpp"
#include "core/error.hpp"

namespace ddl {

ShellScript read_shell_script(const std::string& text, const std::string& origin, const ShellInputs& inputs) {
  ShellState state;
  state.script.sources.push_back(std::make_shared<const SourceText>(text, origin));
  state.positions.emplace_back();
  for (const auto& [name, value] : inputs.values) {
    const PlacedText placed{.text = value, .origins = std::vector<ByteOrigin>(value.size())};
    const auto position = shell_number({.text = name});
    if (!position) {
      state.variables.assign(name, {.words = {placed}});
      continue;
    }
    constexpr std::int64_t most_positions = 1000;
    const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(*position, 1, most_positions));
    std::vector<PlacedText>& all = state.positions.front();
    for (std::size_t i = all.size(); i < at; ++i) {
      PlacedText unknown = placed_text(fmt::format("${}", i + 1), 0);
      unknown.mark(Certainty::outside);
      all.push_back(std::move(unknown));
    }
    all[at - 1] = placed;
  }
  const PlacedText whole = placed_text(state.script.sources.front()->text(), 0);
  ShellReader(state, inputs, whole).read(ScriptRun::yes);
  for (const auto& [name, variable] : state.variables.all()) {
    if (!variable.is_array && !variable.words.empty() && variable.words.front().is_known())
      state.script.values.emplace_back(name, variable.words.front().text);
  }
  return std::move(state.script);
}

Place place_of(const ShellScript& script, const PlacedText& text) {
  return script.sources[text.origin().file]->place(text.offset());
}

ScriptValues script_values_in(const std::vector<std::string>& words) {
  ScriptValues values;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos && is_script_name(word)) {
      const auto load = [&](const std::string& name) { return named_script(word, name); };
      const std::string text = read_file(word, max_configuration_file_bytes);
      for (auto& value : read_shell_script(text, word, {.values = values, .load = load}).values)
        values.push_back(std::move(value));
      continue;
    }
    std::string name = word.substr(0, equals);
    if (name.starts_with('$')) name.erase(0, 1);
    const bool is_position = !name.empty() && name.size() <= 3 && std::ranges::all_of(name, is_shell_digit);
    if (equals == std::string::npos || (!is_shell_name(name) && !is_position))
      throw Error(fmt::format("--set: {} is not NAME=VALUE", quote(word)),
                  "use for example --set NODES=4, --set 1=4 for $1, or --set sizes.sh for the variables of a script");
    values.emplace_back(std::move(name), word.substr(equals + 1));
  }
  return values;
}

}  // namespace ddl
