#include "cli/options/configurations/configuration.hpp"

#include <charconv>

#include <fmt/format.h>

namespace ddl {

const Fact* Configuration::find(RunField field) const {
  const auto& fact = facts_[field.number()];
  return fact ? &*fact : nullptr;
}

bool Configuration::writes(RunField field) const {
  const Fact* fact = find(field);
  return fact != nullptr && fact->from.has_value();
}

void Configuration::override_by(const Configuration& other) {
  for (std::size_t i = 0; i < RunField::count; ++i) {
    if (const auto& theirs = other.facts_[i]; theirs && (theirs->from || !facts_[i])) facts_[i] = theirs;
  }
  sections.insert(other.sections.begin(), other.sections.end());
  not_modelled.insert(not_modelled.end(), other.not_modelled.begin(), other.not_modelled.end());
  warnings.insert(warnings.end(), other.warnings.begin(), other.warnings.end());
}

std::string Configuration::word(RunField field) const {
  const Fact* fact = find(field);
  if (fact == nullptr) return {};
  if (fact->from && !fact->from->is_known) {
    // The values that branches set are known, but not which branch is taken.
    if (fact->from->value.find_first_of("$`") == std::string::npos) {
      throw fact->from->error(
          fmt::format("{} is only one of the values set by the branches of this script", quote(fact->from->value)),
          "set the variable once, or give the value as an option of this command");
    }
    throw fact->from->error(fmt::format("this file does not set {}", quote(fact->from->value)),
                            "set the variable in the file, or give the value as an option of this command");
  }
  return fact->value;
}

std::optional<std::int64_t> Configuration::number(RunField field, std::int64_t low, std::int64_t high) const {
  const Fact* fact = find(field);
  if (fact == nullptr) return std::nullopt;
  const std::string text = word(field);
  std::int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc{} && stop == text.data() + text.size() && value >= low && value <= high) return value;
  const std::string message = fmt::format("{} is not a whole number from {} to {}", quote(text), low, high);
  if (!fact->from) throw Error(message);
  throw fact->from->error(message, "write it in digits");
}

void Configuration::fail(std::initializer_list<RunField> fields, const std::string& message, const std::string& hint) const {
  for (const RunField field : fields) {
    const Fact* fact = find(field);
    if (fact != nullptr && fact->from) throw fact->from->error(message, hint);
  }
  throw Error(fmt::format("{}: {}", file, message), hint);
}

std::string line_text(const std::optional<Place>& place) {
  return place ? fmt::format("{}:{}", place->file, place->line) : "";
}

}  // namespace ddl
