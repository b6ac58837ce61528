#include "cli/options/configurations/expanded_yaml.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "cli/options/configurations/named_files.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// A value of a YAML text. Aliases share the value that has the anchor.
struct YamlPart {
  enum class Kind { scalar, list, map };
  Kind kind = Kind::scalar;
  std::string text{};
  std::size_t offset = 0;
  std::size_t depth = 0;                                    ///< the number of levels below this value
  std::shared_ptr<const SourceText> source{};               ///< the file that contains the value
  std::vector<std::shared_ptr<const YamlPart>> children{};  ///< for a map, keys and values in turn
};

namespace {

/// Maximum nesting, and maximum number of values that are visited when aliases are expanded.
constexpr std::size_t most_nested = 64, most_visited = 10 * most_settings;
constexpr std::ptrdiff_t most_brackets = 1000;
constexpr int most_included = 20;  ///< maximum number of files that a file and its included files include

using SharedPart = std::shared_ptr<const YamlPart>;

class PartsBuilder : public YAML::EventHandler {
 public:
  /// `included`: the number of files that were included so far.
  PartsBuilder(std::shared_ptr<const SourceText> source, std::string path, std::shared_ptr<int> included)
      : source_(std::move(source)), path_(std::move(path)), included_(std::move(included)) {}

  [[nodiscard]] SharedPart root() const { return documents_ == 1 ? root_ : nullptr; }
  [[nodiscard]] bool has_properties() const { return has_properties_; }

  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(scalar("null", mark), anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    has_properties_ = true;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw source_->error(offset(mark), "this alias refers to a value that contains the alias");
    add(found->second, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    has_properties_ = has_properties_ || tag.size() > 1;
    add(tag == "!include" ? included(value, mark) : scalar(value, mark), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlPart::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlPart::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlPart> part;
    YAML::anchor_t anchor;
  };

  [[nodiscard]] std::size_t offset(const YAML::Mark& mark) const {
    return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_->text().size());
  }
  [[nodiscard]] SharedPart scalar(const std::string& text, const YAML::Mark& mark) const {
    return std::make_shared<const YamlPart>(YamlPart{.text = text, .offset = offset(mark), .source = source_});
  }
  /// Returns the contents of the file of `!include FILE`, which Levanter and other tools read; the name if there is no file.
  [[nodiscard]] SharedPart included(const std::string& name, const YAML::Mark& mark) const;

  void open(YamlPart::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() == most_nested)
      throw source_->error(offset(mark), fmt::format("nested deeper than {} levels", most_nested));
    has_properties_ = has_properties_ || tag.size() > 1;
    open_.push_back({std::make_shared<YamlPart>(YamlPart{.kind = kind, .offset = offset(mark), .source = source_}), anchor});
  }
  void close() {
    const Open done = std::move(open_.back());
    open_.pop_back();
    add(done.part, done.anchor);
  }
  void add(const SharedPart& part, YAML::anchor_t anchor) {
    if (anchor != 0) {
      has_properties_ = true;
      anchors_[anchor] = part;
    }
    if (open_.empty()) {
      root_ = part;
    } else {
      YamlPart& parent = *open_.back().part;
      parent.children.push_back(part);
      parent.depth = std::max(parent.depth, part->depth + 1);
      if (parent.depth > most_nested)
        throw source_->error(part->offset, fmt::format("nested deeper than {} levels", most_nested));
    }
  }

  std::shared_ptr<const SourceText> source_;
  std::string path_;
  std::shared_ptr<int> included_;
  SharedPart root_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, SharedPart> anchors_;
  int documents_ = 0;
  bool has_properties_ = false;
};

/// Parses a text. Returns false if the text is not valid.
bool parse(const std::string& text, PartsBuilder& builder) {
  // The parser would look ahead from each of very many brackets.
  if (std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; }) > most_brackets) return false;
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    // The parser reports endless documents after a bracket that closes nothing, so the second document ends the loop.
    while (parser.HandleNextDocument(builder) && builder.root() != nullptr) {}
  } catch (const YAML::Exception&) {
    return false;
  }
  return builder.root() != nullptr;
}

SharedPart PartsBuilder::included(const std::string& name, const YAML::Mark& mark) const {
  const std::optional<std::string> path = named_configuration(path_, name);
  if (!path) return scalar(name, mark);
  if (++*included_ > most_included)
    throw source_->error(offset(mark), fmt::format("more than {} files are included", most_included));
  const auto source = std::make_shared<const SourceText>(read_file(*path, max_configuration_file_bytes), *path);
  PartsBuilder builder(source, *path, included_);
  if (!parse(source->text(), builder)) throw source_->error(offset(mark), fmt::format("{} is not valid YAML", quote(name)));
  return builder.root();
}

/// Converts the parts of a YAML text to arguments.
class Flattener {
 public:
  void flatten(const YamlPart& part, const std::string& path) {
    visit(part);
    if (part.kind == YamlPart::Kind::map) {
      std::set<std::string> seen;
      return flatten_map(part, path, seen);
    }
    if (path.empty()) return;
    std::string text;
    add_scalars(text, part);
    add_setting(settings_,
                {.key = path, .value = text, .source = part.source, .key_offset = part.offset, .value_offset = part.offset});
  }
  [[nodiscard]] ConfigEntries take() { return std::move(settings_); }

 private:
  /// `seen`: the keys of the maps that take precedence; receives the keys of this map. If a key stands twice in this map,
  /// tools use the last value [PyYAML, SafeConstructor.construct_mapping]; the entries keep both.
  void flatten_map(const YamlPart& map, const std::string& path, std::set<std::string>& seen) {
    visit(map);
    std::vector<SharedPart> merged;
    const std::set<std::string> preceding = seen;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const YamlPart& key = *map.children[i];
      if (key.kind != YamlPart::Kind::scalar) continue;
      if (key.text == "<<") {
        merged.push_back(map.children[i + 1]);
      } else if (!preceding.contains(key.text)) {
        seen.insert(key.text);
        flatten(*map.children[i + 1], path.empty() ? key.text : path + "." + key.text);
      }
    }
    for (const SharedPart& each : merged) {
      if (each->kind == YamlPart::Kind::map) flatten_map(*each, path, seen);
      if (each->kind != YamlPart::Kind::list) continue;
      for (const SharedPart& one : each->children) {
        if (one->kind == YamlPart::Kind::map) flatten_map(*one, path, seen);
      }
    }
  }

  void add_scalars(std::string& text, const YamlPart& part) {
    if (part.kind == YamlPart::Kind::scalar) text += (text.empty() ? "" : " ") + part.text;
    if (part.kind != YamlPart::Kind::list) return;
    for (const SharedPart& item : part.children) {
      visit(*item);
      add_scalars(text, *item);
    }
  }

  void visit(const YamlPart& part) {
    if (++visited_ > most_visited)
      throw part.source->error(part.offset, fmt::format("aliases expand to more than {} values", most_visited));
  }

  ConfigEntries settings_;
  std::size_t visited_ = 0;
};

}  // namespace

std::optional<ConfigEntries> expanded_yaml_settings(const std::string& text, const std::string& origin, bool is_repeating) {
  const auto source = std::make_shared<const SourceText>(text, origin);
  PartsBuilder builder(source, origin, std::make_shared<int>(0));
  if (!parse(source->text(), builder) || !(is_repeating || builder.has_properties())) return std::nullopt;
  Flattener flattener;
  flattener.flatten(*builder.root(), "");
  return flattener.take();
}

std::optional<ExpandedNode> ExpandedNode::parse(const std::string& text, const std::string& origin) {
  const auto source = std::make_shared<const SourceText>(text, origin);
  PartsBuilder builder(source, origin, std::make_shared<int>(0));
  if (!ddl::parse(source->text(), builder)) return std::nullopt;
  return ExpandedNode(builder.root(), source, std::make_shared<std::size_t>(0));
}

bool ExpandedNode::is_map() const { return part_->kind == YamlPart::Kind::map; }
bool ExpandedNode::is_sequence() const { return part_->kind == YamlPart::Kind::list; }
bool ExpandedNode::is_scalar() const { return part_->kind == YamlPart::Kind::scalar; }
const std::string& ExpandedNode::text() const {
  constexpr std::size_t bytes_of_visit = 16;  // takes about the time of one value
  count(part_->text.size() / bytes_of_visit);
  return part_->text;
}

void ExpandedNode::count(std::size_t visited) const {
  constexpr std::size_t most = 20'000'000;
  *visited_ += visited;
  if (*visited_ > most) throw source_->error(part_->offset, "aliases expand to too many values");
}

std::vector<std::pair<ExpandedNode, ExpandedNode>> ExpandedNode::entries() const {
  std::vector<std::pair<ExpandedNode, ExpandedNode>> all;
  std::set<std::string_view> seen;
  if (is_map()) add_entries(*part_, all, seen);
  return all;
}

void ExpandedNode::add_entries(const YamlPart& map, std::vector<std::pair<ExpandedNode, ExpandedNode>>& all,
                               std::set<std::string_view>& seen) const {
  if (map.kind == YamlPart::Kind::list) {
    for (const SharedPart& each : map.children) add_entries(*each, all, seen);
  }
  count(map.children.size());
  if (map.kind != YamlPart::Kind::map) return;
  for (const bool merges : {false, true}) {
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const YamlPart& key = *map.children[i];
      if ((key.text == "<<") != merges) continue;
      if (merges) {
        add_entries(*map.children[i + 1], all, seen);
      } else if (seen.insert(key.text).second) {
        all.emplace_back(node(map.children[i]), node(map.children[i + 1]));
      }
    }
  }
}

std::optional<ExpandedNode> ExpandedNode::find(std::string_view key) const {
  const SharedPart* found = is_map() ? find_in(*part_, key) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(node(*found));
}

const SharedPart* ExpandedNode::find_in(const YamlPart& map, std::string_view key) const {
  count(map.children.size());
  if (map.kind == YamlPart::Kind::list) {
    for (const SharedPart& each : map.children) {
      if (const SharedPart* found = find_in(*each, key)) return found;
    }
  }
  if (map.kind != YamlPart::Kind::map) return nullptr;
  for (const bool merges : {false, true}) {
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const YamlPart& each = *map.children[i];
      if (!merges && each.text == key) return &map.children[i + 1];
      if (!merges || each.text != "<<") continue;
      if (const SharedPart* found = find_in(*map.children[i + 1], key)) return found;
    }
  }
  return nullptr;
}

std::vector<ExpandedNode> ExpandedNode::items() const {
  std::vector<ExpandedNode> all;
  if (!is_sequence()) return all;
  count(part_->children.size());
  for (const SharedPart& each : part_->children) all.push_back(node(each));
  return all;
}

bool ExpandedNode::is_null() const {
  if (!is_scalar() || (part_->text != "null" && part_->text != "~")) return false;
  const std::string& all = part_->source->text();
  return part_->offset >= all.size() || (all[part_->offset] != '"' && all[part_->offset] != '\'');
}

Place ExpandedNode::place() const {
  const bool is_here = part_->source == source_;
  if (!is_here) return source_->place(0);  // a value of an included file
  const std::string& all = source_->text();
  std::size_t at = part_->offset;
  // The value stands after its anchor and its tag.
  while (at < all.size() && (all[at] == '&' || all[at] == '!'))
    at = std::min(all.find_first_not_of(" \t\r\n", std::min(all.find_first_of(" \t\r\n", at), all.size())), all.size());
  return source_->place(at);
}

std::vector<std::string> repeated_settings(const ConfigEntries& settings) {
  std::vector<std::string> repeated;
  std::map<std::string_view, const ConfigEntry*> seen;
  for (const ConfigEntry& setting : settings) {
    const auto [before, is_new] = seen.try_emplace(setting.key, &setting);
    if (is_new || before->second->value == setting.value) continue;
    const Place place = setting.place();
    repeated.push_back(fmt::format("{}:{}: {} is set again; the value {} of line {} is ignored", place.file, place.line,
                                   quote(setting.key), quote(before->second->value), before->second->place().line));
    before->second = &setting;
  }
  return repeated;
}

}  // namespace ddl
