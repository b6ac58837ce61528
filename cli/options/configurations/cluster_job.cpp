#include "cli/options/configurations/cluster_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/shell_text.hpp"
#include "core/error.hpp"
#include "core/yaml_node.hpp"

namespace ddl {
namespace {

// Sources of the keys: kubernetes.io, reference of the API (Job, Container); kubeflow/training-operator (PyTorchJob,
// MPIJob), kubeflow/trainer (TrainJob); kubernetes-sigs/jobset; ray-project/kuberay; skypilot-org/skypilot,
// sky/utils/schemas.py and docs/source/running-jobs/environment-variables.rst; Azure ML, schema commandJob; dstackai/dstack,
// docs/reference; determined-ai/determined, docs/reference/training/experiment-config-reference.rst; Vertex AI,
// CustomJobSpec; compose-spec.

constexpr std::int64_t most_devices = 1'000'000;

/// Returns a whole number above zero; 0 if the node is none.
std::int64_t number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() && value > 0 && value < most_devices ? value : 0;
}

std::string text_in(const YamlNode& node) {
  try {
    return node.is_scalar() && !node.is_null() ? node.text() : std::string();
  } catch (const Error&) {
    return {};  // an empty or a very long text
  }
}

/// Returns the node at a path of keys, such as `resources.limits`. Keys themselves may contain dots, so the path is a list.
std::optional<YamlNode> node_at(const YamlNode& root, std::initializer_list<std::string_view> keys) {
  std::optional<YamlNode> node = root;
  for (const std::string_view key : keys) {
    if (!node || !node->is_map()) return std::nullopt;
    node = node->find(key);
  }
  return node;
}

std::int64_t number_at(const YamlNode& root, std::initializer_list<std::string_view> keys) {
  const std::optional<YamlNode> node = node_at(root, keys);
  return node ? number_in(text_in(*node)) : 0;
}

/// Returns the devices in `A100:8`, `H100:80GB:8`, `8` or `{A100: 8}`; 0 if the number is not given.
std::int64_t devices_in(const YamlNode& node) {
  if (node.is_map()) {
    if (const std::int64_t count = number_at(node, {"count"}); count > 0) return count;
    const auto entries = node.entries();
    return entries.size() == 1 ? number_in(text_in(entries.front().second)) : 0;
  }
  const std::string text = text_in(node);
  return number_in(std::string_view(text).substr(text.rfind(':') + 1));
}

/// The devices that a container of Kubernetes requests.
std::int64_t devices_of_container(const YamlNode& container) {
  for (const std::string_view group : {"resources", "resourcesPerNode"}) {
    for (const std::string_view part : {"limits", "requests"}) {
      for (const std::string_view device : {"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "google.com/tpu"}) {
        if (const std::int64_t count = number_at(container, {group, part, device}); count > 0) return count;
      }
    }
  }
  return 0;
}

/// Builds a script whose lines stay in the places that they have in a job.
class CommandsOfJob {
 public:
  explicit CommandsOfJob(const std::string& text) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      raw_.emplace_back(text, at, end - at);
      if (raw_.back().ends_with('\r')) raw_.back().pop_back();
      at = end + 1;
    }
    lines_.resize(raw_.size());
  }

  /// Reads the document whose first line is `first`, counted from 0.
  void read(const YamlNode& root, std::size_t first) {
    if (!root.is_map()) return;
    first_ = first;
    const auto has = [&](std::string_view key) { return root.find(key).has_value(); };
    if (has("apiVersion") && has("kind")) {
      walk(root, 1);
      if (const auto entrypoint = node_at(root, {"spec", "entrypoint"})) add_text(*entrypoint);
      export_devices({"PET_NNODES", number_at(root, {"spec", "nprocPerNode"}) > 0 ? "" : "WORLD_SIZE"}, {});
    } else if (has("run") && (has("resources") || has("num_nodes") || has("setup"))) {
      devices_ = devices_at(root, {"resources", "accelerators"});
      nodes_ = std::max<std::int64_t>(number_at(root, {"num_nodes"}), 1);
      add_text(*root.find("run"));
      export_devices({"SKYPILOT_NUM_NODES"}, {"SKYPILOT_NUM_GPUS_PER_NODE"});
    } else if (has("commands") && has("type")) {
      devices_ = devices_at(root, {"resources", "gpu"});
      nodes_ = std::max<std::int64_t>(number_at(root, {"nodes"}), 1);
      for (const YamlNode& each : items_of(*root.find("commands"))) add_text(each);
      export_devices({"DSTACK_NODES_NUM"}, {"DSTACK_GPUS_PER_NODE"});
    } else if (has("entrypoint") && has("searcher")) {
      devices_ = number_at(root, {"resources", "slots_per_trial"});
      nodes_ = 1;
      add_command(*root.find("entrypoint"));
      export_devices({}, {});
    } else if (has("workerPoolSpecs")) {
      for (const YamlNode& pool : items_of(*root.find("workerPoolSpecs"))) {
        count(number_at(pool, {"machineSpec", "acceleratorCount"}),
              std::max<std::int64_t>(number_at(pool, {"replicaCount"}), 1));
        if (const auto container = node_at(pool, {"containerSpec"})) add_container(*container);
      }
      export_devices({}, {});
    } else if (const auto services = root.find("services"); services && services->is_map()) {
      for (const auto& [name, service] : services->entries()) {
        if (service.is_map()) add_container(service);
      }
    } else {
      read_azure(root);
    }
  }

  [[nodiscard]] std::optional<std::string> script() const {
    if (seen_.empty()) return std::nullopt;
    std::string text;
    for (const std::string& line : lines_) text += line + '\n';
    return text;
  }

 private:
  /// Words of a command, or a command line, and the line on which it begins, counted from 0.
  struct Item {
    std::string text;
    std::size_t line;
  };

  static std::vector<YamlNode> items_of(const YamlNode& node) {
    return node.is_sequence() ? node.items() : std::vector<YamlNode>();
  }
  static std::int64_t devices_at(const YamlNode& root, std::initializer_list<std::string_view> keys) {
    const std::optional<YamlNode> node = node_at(root, keys);
    return node ? devices_in(*node) : 0;
  }

  /// A command job of Azure ML, or a pipeline of such jobs.
  void read_azure(const YamlNode& root) {
    const auto schema = root.find("$schema");
    const bool is_azure = (schema && text_in(*schema).find("azureml") != std::string::npos) || root.find("distribution");
    if (!is_azure) return;
    if (const auto jobs = root.find("jobs"); jobs && jobs->is_map()) {
      for (const auto& [name, job] : jobs->entries()) read_azure_job(job, root);
    }
    read_azure_job(root, root);
    export_devices({}, {});
  }

  void read_azure_job(const YamlNode& job, const YamlNode& root) {
    const auto command = node_at(job, {"command"});
    if (!command) return;
    count(number_at(job, {"distribution", "process_count_per_instance"}),
          std::max<std::int64_t>(number_at(job, {"resources", "instance_count"}), 1));
    const std::size_t before = seen_.size();
    add_text(*command);
    if (seen_.size() == before) return;
    for (std::string& line : lines_) fill_in(line, job, root);
  }

  /// Replaces `${{inputs.NAME}}` by the value of the input, and by a variable if the job does not give it.
  static void fill_in(std::string& line, const YamlNode& job, const YamlNode& root) {
    for (std::size_t at = line.find("${{"); at != std::string::npos; at = line.find("${{", at)) {
      const std::size_t end = line.find("}}", at);
      if (end == std::string::npos) return;
      std::string name = line.substr(at + 3, end - at - 3);
      std::erase(name, ' ');
      std::string value;
      std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
      for (const YamlNode* each : {&job, &root}) {
        std::optional<YamlNode> input = value.empty() ? node_at(*each, {"inputs", last}) : std::nullopt;
        if (input && input->is_map()) input = input->find("default");
        if (input) value = text_in(*input);
      }
      const bool is_given = !value.empty() && value.find("${{") == std::string::npos;
      std::string variable(last);
      std::replace_if(
          variable.begin(), variable.end(), [](char c) { return !goes_on_in_shell_name(c); }, '_');
      line.replace(at, end + 2 - at, is_given ? value : "${" + variable + "}");
    }
  }

  /// Finds the containers of a job of Kubernetes. `copies`: how often the part runs.
  void walk(const YamlNode& node, std::int64_t copies) {
    if (node.is_sequence()) {
      for (const YamlNode& each : node.items()) walk(each, copies);
    }
    if (!node.is_map()) return;
    for (const std::string_view key : {"replicas", "parallelism", "numNodes"}) {
      copies = std::min(copies * std::max<std::int64_t>(number_at(node, {key}), 1), most_devices);
    }
    const bool is_container = node.find("image") || node.find("numNodes") || node.find("command");
    if (is_container) {
      count(devices_of_container(node), copies);
      add_container(node);
    }
    for (const auto& [key, value] : node.entries()) {
      const std::string name = text_in(key);
      if (name != "env" && name != "initContainers" && name != "metadata") walk(value, copies);
    }
  }

  void count(std::int64_t devices, std::int64_t nodes) {
    if (devices == 0) return;
    differ_ = differ_ || (devices_ > 0 && devices_ != devices);
    devices_ = devices;
    nodes_ += nodes;
  }

  /// Adds the number of nodes, and of devices on each, as variables of the script.
  void export_devices(std::initializer_list<std::string_view> nodes, std::initializer_list<std::string_view> devices) {
    if (devices_ == 0 || differ_) return;
    std::string text = fmt::format("export NNODES={} NPROC_PER_NODE={}", nodes_, devices_);
    for (const std::string_view name : nodes) text += name.empty() ? "" : fmt::format(" {}={}", name, nodes_);
    for (const std::string_view name : devices) text += fmt::format(" {}={}", name, devices_);
    lines_[first_] = text + (lines_[first_].empty() ? "" : "; " + lines_[first_]);
  }

  void add_container(const YamlNode& container) {
    std::set<std::string> names;
    std::string assigned;
    if (const auto env = container.find("env")) {
      for (const YamlNode& each : items_of(*env)) {
        const std::string name = node_at(each, {"name"}) ? text_in(*each.find("name")) : "";
        const std::string value = node_at(each, {"value"}) ? text_in(*each.find("value")) : "";
        const bool is_name =
            !name.empty() && begins_shell_name(name.front()) && std::all_of(name.begin(), name.end(), goes_on_in_shell_name);
        if (!is_name) continue;
        names.insert(name);
        if (!value.empty() && value.find('\n') == std::string::npos) assigned += " " + name + "=" + quoted(value, names);
      }
    }
    std::vector<Item> words;
    const auto command = container.find("command");
    if (command && command->is_scalar()) {
      add_text(*command);
    } else {
      for (const std::string_view key : {"entrypoint", "command", "args"}) {
        if (const auto list = container.find(key)) add_words(words, *list);
      }
    }
    const std::size_t before = seen_.size();
    add_exec(words, names);
    if (seen_.size() > before && !assigned.empty())
      lines_[first_] = "export" + assigned + (lines_[first_].empty() ? "" : "; " + lines_[first_]);
  }

  void add_words(std::vector<Item>& words, const YamlNode& list) const {
    if (list.is_scalar() && !list.is_null()) words.push_back({text_of(list), line_of(list)});
    for (const YamlNode& each : items_of(list)) {
      if (each.is_scalar() && !each.is_null()) words.push_back({text_of(each), line_of(each)});
    }
  }

  /// Adds a command that is a text for a shell, or a list of words.
  void add_command(const YamlNode& node) {
    if (!node.is_sequence()) return add_text(node);
    std::vector<Item> words;
    add_words(words, node);
    add_exec(words, {});
  }

  /// Adds a command that no shell reads, except that of `bash -c`.
  void add_exec(const std::vector<Item>& words, const std::set<std::string>& names) {
    if (words.empty()) return;
    const std::string shell = words.front().text.substr(words.front().text.rfind('/') + 1);
    if (shell == "bash" || shell == "sh") {
      for (std::size_t i = 1; i + 1 < words.size() && words[i].text.starts_with('-'); ++i) {
        if (!words[i].text.ends_with('c')) continue;
        return add_lines(words[i + 1], names);
      }
    }
    std::string all;
    for (const Item& word : words) all += word.text + ' ';
    if (!seen_.insert(all).second) return;
    for (const Item& word : words) put(word.line, quoted(word.text, names));
    for (std::size_t line = words.front().line; line < words.back().line; ++line) put(line, "\\");
  }

  void add_text(const YamlNode& node) {
    if (node.is_scalar() && !node.is_null()) add_lines({text_of(node), line_of(node)}, {});
  }

  /// Adds a text that a shell reads, one line below the other.
  void add_lines(const Item& script, const std::set<std::string>& names) {
    if (script.text.find_first_not_of(" \t\n") == std::string::npos || !seen_.insert(script.text).second) return;
    std::size_t line = script.line;
    std::string rest;
    for (std::size_t at = 0; at < script.text.size(); ++line) {
      const std::size_t end = std::min(script.text.find('\n', at), script.text.size());
      const std::string one = with_variables(std::string_view(script.text).substr(at, end - at), names);
      at = end + 1;
      // A text in quotes has its line breaks on one line of the file, so its commands are separated there.
      if (is_block(script.line) && line < lines_.size()) {
        put(line, one);
      } else if (rest.ends_with('\\')) {
        rest.back() = ' ';
        rest += one;
      } else if (one.find_first_not_of(" \t") != std::string::npos && one[one.find_first_not_of(" \t")] != '#') {
        rest += (rest.empty() ? "" : "; ") + one;
      }
    }
    if (!rest.empty()) put(script.line, rest);
  }

  /// Whether the line before `line` ends in the sign of a text over several lines, `|` or `>`.
  [[nodiscard]] bool is_block(std::size_t line) const { return line > 0 && is_header(raw_[line - 1]); }
  static bool is_header(std::string_view line) {
    if (const std::size_t comment = line.find(" #"); comment != std::string_view::npos) line = line.substr(0, comment);
    while (!line.empty() && (line.back() == ' ' || line.back() == '+' || line.back() == '-')) line.remove_suffix(1);
    const bool is_sign = line.ends_with('|') || line.ends_with('>');
    return is_sign && (line.size() == 1 || line[line.size() - 2] == ' ');
  }

  /// The first line of a value, counted from 0. The value of `key: |` begins on the next line.
  [[nodiscard]] std::size_t line_of(const YamlNode& node) const {
    const auto line = std::min(static_cast<std::size_t>(std::max(node.line(), 1)) - 1, raw_.size() - 1);
    const std::string& text = raw_[line];
    const auto column = static_cast<std::size_t>(std::max(node.column(), 1)) - 1;
    const bool opens = column < text.size() && (text[column] == '|' || text[column] == '>');
    return opens && line + 1 < raw_.size() ? line + 1 : line;
  }

  /// The text of a value. Of a text over several lines, the lines of the file, so that each stays in its place.
  [[nodiscard]] std::string text_of(const YamlNode& node) const {
    const std::size_t first = line_of(node);
    if (!is_block(first)) return text_in(node);
    const std::string_view header = raw_[first - 1];
    const bool is_folded = header.substr(0, header.find(" #")).rfind('>') != std::string_view::npos &&
                           header.rfind('>') + 3 > header.find_last_not_of(' ');
    std::size_t indent = std::string::npos;
    std::string all;
    for (std::size_t line = first; line < raw_.size(); ++line) {
      const std::size_t depth = raw_[line].find_first_not_of(' ');
      if (depth == std::string::npos) {
        all += '\n';
        continue;
      }
      if (indent == std::string::npos) indent = depth;
      if (depth < indent) break;
      std::string_view one = std::string_view(raw_[line]).substr(indent);
      while (one.ends_with(' ')) one.remove_suffix(1);
      // The next line of a folded text belongs to the same command.
      const bool goes_on = is_folded && !one.ends_with('\\') && line + 1 < raw_.size() &&
                           raw_[line + 1].find_first_not_of(' ') != std::string::npos &&
                           raw_[line + 1].find_first_not_of(' ') >= indent;
      all += one;
      all += goes_on ? " \\\n" : "\n";
    }
    return all;
  }

  /// Kubernetes replaces `$(NAME)` by the variable of the container.
  static std::string with_variables(std::string_view text, const std::set<std::string>& names) {
    std::string all;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::size_t end = text.substr(at).starts_with("$(") ? text.find(')', at) : std::string_view::npos;
      if (end != std::string_view::npos && names.contains(std::string(text.substr(at + 2, end - at - 2)))) {
        all += "${" + std::string(text.substr(at + 2, end - at - 2)) + "}";
        at = end;
      } else {
        all += text[at];
      }
    }
    return all;
  }

  /// A word as a shell reads it.
  static std::string quoted(const std::string& text, const std::set<std::string>& names) {
    const std::string plain = with_variables(text, names);
    if (plain.find_first_of(" \t\n'\"\\`|&;<>(){}*?#~!") == std::string::npos && !plain.empty()) return plain;
    std::string all = "\"";
    for (const char c : plain) {
      if (c == '"' || c == '\\' || c == '`') all += '\\';
      all += c == '\n' ? ' ' : c;
    }
    return all + '"';
  }

  void put(std::size_t line, const std::string& text) {
    std::string& whole = lines_[std::min(line, lines_.size() - 1)];
    whole += (whole.empty() ? "" : " ") + text;
  }

  std::vector<std::string> raw_, lines_;
  std::size_t first_ = 0;
  std::set<std::string> seen_;  ///< the commands, which several containers may share
  std::int64_t devices_ = 0, nodes_ = 0;
  bool differ_ = false;  ///< whether containers have different numbers of devices
};

/// Whether the text may be a job that starts a command.
bool may_start_command(const std::string& text) {
  constexpr std::array<std::string_view, 5> keys{"run:", "command:", "commands:", "args:", "entrypoint:"};
  constexpr std::array<std::string_view, 9> marks{
      "apiVersion:",      "num_nodes:", "resources:", "setup:",       "searcher:",
      "workerPoolSpecs:", "services:",  "$schema:",   "distribution:"};
  const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  return std::any_of(keys.begin(), keys.end(), says) && std::any_of(marks.begin(), marks.end(), says);
}

}  // namespace

std::optional<std::string> script_of_job(const std::string& text, const std::string& path) {
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_yaml || text.find('\n') == std::string::npos || text.starts_with("#!") || !may_start_command(text))
    return std::nullopt;
  CommandsOfJob reader(text);
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find("\n---", at);
    const std::size_t end = found == std::string::npos ? text.size() : found + 1;
    // Earlier documents become empty lines, so that places stay as they are.
    const std::size_t first = line;
    std::string document = std::string(first, '\n') + text.substr(at, end - at);
    if (const std::size_t start = document.find("---", first); start == first) document.replace(start, 3, "   ");
    line += static_cast<std::size_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at = end;
    try {
      reader.read(YamlNode::parse(std::move(document), path), first);
    } catch (const Error&) {
      continue;  // an empty document, or one that is no valid YAML
    }
  }
  return reader.script();
}

}  // namespace ddl
