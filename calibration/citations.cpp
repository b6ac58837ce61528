#include "calibration/citations.hpp"

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {

Citations::Citations(const YamlNode& sources) {
  for (const auto& [key, citation] : sources.entries()) citations_.emplace_back(key.text(), citation.text());
}

const std::string& Citations::of(const YamlNode& key) const {
  const std::string name = key.text();
  std::vector<std::string> known;
  for (const auto& [candidate, citation] : citations_) {
    if (candidate == name) return citation;
    known.push_back(candidate);
  }
  const std::string hint = suggest(name, known);
  key.fail(fmt::format("unknown source {}", quote(name)), hint.empty() ? "add it to 'sources:'" : hint);
}

SourcedNode Citations::read(const YamlNode& entry) const {
  if (!entry.is_map()) {
    entry.fail(fmt::format("expected a value with its source, found {}{}", entry.is_sequence() ? "a " : "", entry.kind()),
               "write {value: ..., source: a key of 'sources:'}");
  }
  entry.only_keys({"value", "source"});
  return {entry.at("value"), of(entry.at("source"))};
}

}  // namespace ddl
