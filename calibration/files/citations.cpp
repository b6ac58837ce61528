#include "calibration/files/citations.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {

Citations::Citations(const YamlNode& sources) {
  for (const auto& [key, citation] : sources.entries()) citations_.emplace_back(key.text(), citation.text());
}

void Citations::add_missing(const Citations& more) {
  for (const auto& known : more.citations_) {
    const bool has_key =
        std::any_of(citations_.begin(), citations_.end(), [&](const auto& own) { return own.first == known.first; });
    if (!has_key) citations_.push_back(known);
  }
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
  const YamlNode key = entry.at("source");
  return {entry.at("value"), of(key), key.text()};
}

}  // namespace ddl
