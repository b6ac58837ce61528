#include "cli/commands/serve/question.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/commands/for_framework.hpp"
#include "cli/commands/serve/http.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_names.hpp"
#include "model_zoo/files/unknown_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

constexpr std::size_t max_link_value = 256;
constexpr std::string_view repository_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

/// Whether `name` is that of a bundled model, also with a tag of timm, as the loader of models finds it before a file.
bool is_bundled_model(const std::string& name) {
  const auto head = head_of_tag(name);
  const std::vector<std::string> names = model_names();
  return contains(names, canonical_model_name(name)) || (head && contains(names, canonical_model_name(head->architecture)));
}

/// Throws Error for a name that is neither bundled nor an offered file.
void refuse_files(const std::string& key, const std::string& value, const std::vector<std::string>& offered) {
  // The whole value is compared first, because a file name may contain a comma.
  if (contains(offered, value)) return;
  for (const std::string& each : comma_separated(value)) {
    const std::string name = each.substr(0, each.find('@'));
    if (contains(offered, name)) continue;
    // The name of a Hugging Face repository is the name of a bundled model, unless there is such a file.
    const bool is_repository = is_hub_name(name) && name.find_first_not_of(repository_letters) == std::string::npos &&
                               each.find("..") == std::string::npos;
    std::error_code unknown;
    if (key == "model" && is_repository && !std::filesystem::exists(name, unknown)) continue;
    const bool is_plain = std::ranges::all_of(
        each, [](char letter) { return letter > ' ' && letter < 0x7f && letter != '/' && letter != '\\'; });
    if (is_path(name) || !is_plain || name.ends_with(".json") || name.ends_with(".onnx"))
      throw Error(fmt::format("{} {} is not a bundled name, and the page does not read files", key, quote(each)),
                  key == "model" || key == "machine" ? fmt::format("start the server with --{} FILE to offer a file", key)
                                                     : "choose one of the offered names");
    // A folder or file without an ending may have any name. It is refused like a name that does not exist.
    if (key != "model") continue;
    for (const std::string& each_name : {name, each}) {
      if (std::filesystem::exists(each_name, unknown) && !is_bundled_model(name))
        throw Error(fmt::format("unknown model {}", quote(name)), unknown_model_hint(name));
    }
  }
}

}  // namespace

const std::vector<Control>& controls() {
  using Kind = Control::Kind;
  static const std::vector<Control> all{
      {"model", "--model", "Model", "llama3-8b", "llama3-8b", Kind::name},
      {"machine", "--machine", "Machine", "dgx-h100", "", Kind::choice},
      {"gpus", "--gpus", "GPUs", "64", "64, or 8..1024"},
      {"batch", "--batch", "Global batch", "", "default"},
      {"seq", "--seq", "Seq. length", "", "default"},
      {"precision", "--precision", "Precision", "", "", Kind::choice},
      {"for", "--for", "Start with", "", "", Kind::choice},
      {"tokens", "--train-tokens", "Tokens to train", "", "15T", Kind::words},
      {"price", "--price", "GPU-hour price", "", "2.5USD/h", Kind::words},
      {"deadline", "--deadline", "Deadline", "", "30d", Kind::words, true},
      {"budget", "--budget", "Budget", "", "100kUSD", Kind::words, true},
      {"memory", "--gpu-memory", "Memory per GPU", "", "80GiB", Kind::words, true},
      {"software", "--software", "Software", "", "", Kind::choice, true},
      {"optimizer", "--optimizer", "Optimizer", "", "", Kind::choice, true},
      {"zero", "--zero", "ZeRO stage", "", "", Kind::choice, true},
      {"recompute", "--recompute", "Recompute", "", "", Kind::choice, true},
      {"strategies", "--strategy", "Strategies", "", "data,data+tensor", Kind::words, true},
  };
  return all;
}

std::vector<std::string> offers_of(const Control& control, const OfferedFiles& files) {
  std::vector<std::string> offers;
  const auto add = [&](const auto& names) { offers.insert(offers.end(), names.begin(), names.end()); };
  if (control.key == "model") {
    add(files.models);
    add(model_names());
  } else if (control.key == "machine") {
    add(files.machines);
    add(machine_names());
  } else if (control.key == "precision") {
    add(enum_names<Precision>);
  } else if (control.key == "software") {
    add(software_names());
  } else if (control.key == "for") {
    add(framework_choices());
  } else if (control.key == "optimizer") {
    add(enum_names<Optimizer>);
  } else if (control.key == "zero" || control.key == "recompute") {
    const PlanChoiceRow& row = row_of(control.key == "zero" ? PlanChoice::zero : PlanChoice::recompute);
    add(row.names());
  }
  return offers;
}

std::string PageQuestion::value_of(std::string_view key) const {
  const auto found = std::ranges::find_if(values, [&](const auto& each) { return each.first == key; });
  return found == values.end() ? std::string() : found->second;
}

std::string PageQuestion::query() const {
  std::string query;
  for (const auto& [key, value] : values)
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", key, encoded_query_value(value));
  return query;
}

PageQuestion question_of(std::string_view query, const OfferedFiles& files) {
  std::vector<std::pair<std::string, std::string>> said = decoded_query(query);
  std::vector<std::string> keys;
  for (const Control& each : controls()) keys.emplace_back(each.key);
  for (std::size_t i = 0; i < said.size(); ++i) {
    auto& [key, value] = said[i];
    if (!contains(keys, key)) throw Error(fmt::format("the page has no option {}", quote(key)), suggest(key, keys));
    for (std::size_t j = 0; j < i; ++j) {
      if (said[j].first == key) throw Error(fmt::format("{} is given twice", key), "leave one of them out");
    }
    if (value.size() > max_link_value)
      throw Error(fmt::format("{} has {} characters", key, value.size()), fmt::format("use at most {}", max_link_value));
    value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
    while (value.ends_with(' ')) value.pop_back();
    if (key == "model" || key == "machine" || key == "software")
      refuse_files(key, value,
                   key == "model"     ? files.models
                   : key == "machine" ? files.machines
                                      : std::vector<std::string>{});
  }
  PageQuestion question;
  for (const Control& each : controls()) {
    const auto found = std::ranges::find_if(said, [&](const auto& pair) { return pair.first == each.key; });
    const std::string value = found != said.end() ? found->second : said.empty() ? std::string(each.initial) : std::string();
    if (!value.empty()) question.values.emplace_back(each.key, value);
  }
  return question;
}

namespace {

/// Returns the texts in 'quotes'.
std::vector<std::string> quoted_in(std::string_view text) {
  std::vector<std::string> quoted;
  for (std::size_t at = text.find('\''); at != std::string_view::npos; at = text.find('\'', at)) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    quoted.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return quoted;
}

std::vector<std::string> models_in(std::string_view text) {
  const std::vector<std::string> names = model_names();
  std::vector<std::string> found;
  constexpr std::string_view separators = " ,;:";
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    const std::string word(text.substr(at, end - at));
    if (contains(names, word)) found.push_back(word);
    at = text.find_first_not_of(separators, end);
  }
  return found;
}

}  // namespace

std::vector<std::pair<std::string, PageQuestion>> mended(const PageQuestion& question, std::string_view what,
                                                         std::string_view hint) {
  std::vector<std::pair<std::string, PageQuestion>> mended;
  const std::vector<std::string> wrong = quoted_in(what);
  if (wrong.empty()) return mended;
  std::vector<std::string> proposals = quoted_in(hint);
  if (proposals.empty()) proposals = models_in(hint);
  for (const std::string& proposal : proposals) {
    PageQuestion changed = question;
    for (auto& [key, value] : changed.values) {
      const std::size_t at = value.find(wrong.front());
      if (at == std::string::npos || proposal.starts_with('-')) continue;
      value.replace(at, wrong.front().size(), proposal);
      mended.emplace_back(proposal, changed);
      break;
    }
  }
  return mended;
}

AskedWords words_of(const PageQuestion& question) {
  AskedWords asked{{"recommend"}, {}};
  for (const Control& each : controls()) {
    const std::string value = question.value_of(each.key);
    if (value.empty()) continue;
    if (each.key == "seq" || each.key == "tokens") {
      // The page keeps these values when the user changes to a model without sequences, so they are dropped.
      const std::string model = question.value_of("model");
      try {
        if (!model.empty() && model.find(',') == std::string::npos && load_model(model).sequence_length == 0) {
          asked.notes.push_back(fmt::format("{} has no sequences: the {} is ignored", model,
                                            each.key == "seq" ? "sequence length" : "number of tokens"));
          continue;
        }
      } catch (const Error&) {
        // The command reports a problem with the model later.
      }
    }
    // Option and value are one word, so that a value that begins with a dash is not read as an option.
    asked.words.push_back(fmt::format("{}={}", each.option, value));
  }
  return asked;
}

}  // namespace ddl
