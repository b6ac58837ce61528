#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/cluster_script.hpp"
#include "cli/options/configurations/expanded_yaml.hpp"
#include "cli/options/configurations/scripts_in_files.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "core/error.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

// Sources of the keys: kubernetes.io, reference of the API (Job, Container); kubeflow/training-operator (PyTorchJob,
// MPIJob), kubeflow/trainer (TrainJob); kubernetes-sigs/jobset; ray-project/kuberay; skypilot-org/skypilot,
// sky/utils/schemas.py and docs/source/running-jobs/environment-variables.rst; Azure ML, schema commandJob; dstackai/dstack,
// docs/reference; determined-ai/determined, docs/reference/training/experiment-config-reference.rst; Vertex AI,
// CustomJobSpec; compose-spec.

constexpr std::int64_t most_devices = 1'000'000;

/// Returns a whole number above zero; 0 if the node is not such a number.
std::int64_t positive_in(std::string_view text) {
  const std::int64_t value = number_in(text).value_or(0);
  return value > 0 && value < most_devices ? value : 0;
}

/// Returns the node at a path of keys, such as `resources.limits`. Keys themselves may contain dots, so the path is a list.
std::optional<ExpandedNode> node_at(const ExpandedNode& root, std::initializer_list<std::string_view> keys) {
  std::optional<ExpandedNode> node = root;
  for (const std::string_view key : keys) {
    if (!node || !node->is_map()) return std::nullopt;
    node = node->find(key);
  }
  return node;
}

std::int64_t number_at(const ExpandedNode& root, std::initializer_list<std::string_view> keys) {
  const std::optional<ExpandedNode> node = node_at(root, keys);
  return node ? positive_in(scalar_text(*node)) : 0;
}

std::vector<ExpandedNode> items_of(const ExpandedNode& node) {
  return node.is_sequence() ? node.items() : std::vector<ExpandedNode>();
}

/// The devices of a node.
struct Devices {
  std::int64_t count = 0;  ///< 0 if the number is not given
  std::string name;        ///< `H100`; empty if the type is not given
};

/// Reads `A100:8`, `H100:80GB:8`, `8`, `H100`, `{A100: 8}`, `{A100:8}` or `{name: A100, count: 8}`. If there are several
/// types, among which the cluster chooses, no type is read.
Devices devices_in(const ExpandedNode& node) {
  std::string text = scalar_text(node);
  if (node.is_map()) {
    const auto name = node.find("name"), count = node.find("count");
    const auto entries = node.entries();
    if (name || count) {
      text = (name ? scalar_text(*name) + ":" : "") + (count ? scalar_text(*count) : "1");
    } else if (entries.size() == 1) {
      const std::string value = scalar_text(entries.front().second);
      text = scalar_text(entries.front().first) + (value.empty() ? "" : ":" + value);
    }
  }
  const std::string_view last = std::string_view(text).substr(text.rfind(':') + 1);
  Devices read{positive_in(last), {}};
  std::string_view names = text;
  if (read.count > 0) {
    names = names.substr(0, text.size() - std::min(text.size(), last.size() + 1));
  } else if (!text.empty() && last.find("..") == std::string_view::npos && !text.starts_with("tpu")) {
    read.count = 1;
  }
  if (!names.empty() && begins_shell_name(names.front())) read.name = std::string(names);
  std::ranges::replace(read.name, ':', '-');  // `H100:80GB` is the type with this memory
  return read;
}

/// The devices that a container of Kubernetes requests.
std::int64_t devices_of_container(const ExpandedNode& container) {
  for (const std::string_view group : {"resources", "resourcesPerNode"}) {
    for (const std::string_view part : {"limits", "requests"}) {
      for (const std::string_view device : {"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "google.com/tpu"}) {
        if (const std::int64_t count = number_at(container, {group, part, device}); count > 0) return count;
      }
    }
  }
  return 0;
}

/// Adds a variable. Kubernetes allows references to the variables before it.
void add_variable(JobVariables& variables, const std::string& name, const std::string& value) {
  if (!is_shell_name(name)) return;
  variables.names.insert(name);
  if (!value.empty() && value.find('\n') == std::string::npos)
    variables.assigned += " " + name + "=" + shell_word(value, variables.names);
}

/// Reads the variables at a key: a map, a list of `NAME=VALUE`, or a list of `{name: NAME, value: VALUE}`.
JobVariables variables_at(const ExpandedNode& node, std::string_view key) {
  JobVariables variables;
  const std::optional<ExpandedNode> all = node_at(node, {key});
  if (!all) return variables;
  if (all->is_map()) {
    for (const auto& [name, value] : all->entries()) add_variable(variables, scalar_text(name), scalar_text(value));
  }
  for (const ExpandedNode& each : items_of(*all)) {
    if (each.is_map()) {
      const auto name = each.find("name"), value = each.find("value");
      if (name) add_variable(variables, scalar_text(*name), value ? scalar_text(*value) : "");
    } else {
      const std::string text = scalar_text(each);
      const std::size_t sign = std::min(text.find('='), text.size());
      add_variable(variables, text.substr(0, sign), text.substr(std::min(sign + 1, text.size())));
    }
  }
  return variables;
}

using AzureInputs = std::map<std::string, std::string, std::less<>>;

/// The inputs of a job of Azure ML that have a value.
AzureInputs inputs_of(const ExpandedNode& job) {
  AzureInputs inputs;
  const auto all = node_at(job, {"inputs"});
  if (!all || !all->is_map()) return inputs;
  for (const auto& [name, input] : all->entries()) {
    const auto value = input.is_map() ? input.find("default") : std::optional(input);
    if (value && scalar_text(*value).find("${{") == std::string::npos) inputs[scalar_text(name)] = scalar_text(*value);
  }
  return inputs;
}

/// Replaces `${{inputs.NAME}}` by the value of the input, and by a variable if the job does not give it.
std::string filled_in(const std::string& text, const AzureInputs& of_job, const AzureInputs& of_pipeline) {
  std::string all;
  std::size_t done = 0;
  for (std::size_t at = text.find("${{"); at != std::string::npos; at = text.find("${{", done)) {
    const std::size_t end = text.find("}}", at);
    if (end == std::string::npos) break;
    std::string name = text.substr(at + 3, end - at - 3);
    std::erase(name, ' ');
    name.erase(0, name.rfind('.') + 1);
    all += text.substr(done, at - done);
    done = end + 2;
    const auto own = of_job.find(name), outer = of_pipeline.find(name);
    const bool is_full = all.size() > most_expanded_bytes;
    if (own != of_job.end() && !own->second.empty() && !is_full) {
      all += own->second;
    } else if (outer != of_pipeline.end() && !outer->second.empty() && !is_full) {
      all += outer->second;
    } else {
      std::ranges::replace_if(
          name, [](char c) { return !goes_on_in_shell_name(c); }, '_');
      all += "${" + name + "}";
    }
  }
  return all + text.substr(done);
}

/// Reads the commands, and the numbers of nodes and devices, of a job.
class ClusterJobReader {
 public:
  explicit ClusterJobReader(const std::string& text) : script_(text) {}

  /// Reads the document whose first line is `first`, counted from 0.
  void read(const ExpandedNode& root, std::size_t first) {
    if (!root.is_map()) return;
    script_.begin_document(first);
    const auto has = [&](std::string_view key) { return root.find(key).has_value(); };
    if (has("apiVersion") && has("kind")) {
      walk(root, 1);
      if (const auto entrypoint = node_at(root, {"spec", "entrypoint"})) add_text(*entrypoint, {});
      export_devices({"PET_NNODES", number_at(root, {"spec", "nprocPerNode"}) > 0 ? "" : "WORLD_SIZE"}, {});
    } else if (has("run") && (has("resources") || has("num_nodes") || has("setup"))) {
      take_devices(node_at(root, {"resources", "accelerators"}));
      nodes_ = std::max<std::int64_t>(number_at(root, {"num_nodes"}), 1);
      add_text(*root.find("run"), variables_at(root, "envs"));
      export_devices({"SKYPILOT_NUM_NODES"}, {"SKYPILOT_NUM_GPUS_PER_NODE"});
    } else if (has("commands") && has("type")) {
      take_devices(node_at(root, {"resources", "gpu"}));
      nodes_ = std::max<std::int64_t>(number_at(root, {"nodes"}), 1);
      JobVariables variables = variables_at(root, "env");
      for (const ExpandedNode& each : items_of(*root.find("commands"))) {
        // The commands run in one shell.
        if (add_text(each, variables)) variables.assigned.clear();
      }
      export_devices({"DSTACK_NODES_NUM"}, {"DSTACK_GPUS_PER_NODE"});
    } else if (has("entrypoint") && has("searcher")) {
      devices_ = number_at(root, {"resources", "slots_per_trial"});
      nodes_ = 1;
      const ExpandedNode entrypoint = *root.find("entrypoint");
      if (entrypoint.is_sequence()) {
        script_.add_words(words_of(entrypoint), {});
      } else {
        add_text(entrypoint, {});
      }
      export_devices({}, {});
    } else if (has("workerPoolSpecs")) {
      for (const ExpandedNode& pool : items_of(*root.find("workerPoolSpecs"))) {
        count(number_at(pool, {"machineSpec", "acceleratorCount"}),
              std::max<std::int64_t>(number_at(pool, {"replicaCount"}), 1));
        if (const auto type = node_at(pool, {"machineSpec", "acceleratorType"})) take_name(scalar_text(*type), *type);
        if (const auto container = node_at(pool, {"containerSpec"})) add_container(*container);
      }
      export_devices({}, {});
    } else if (const auto services = root.find("services"); services && services->is_map()) {
      for (const auto& [name, service] : services->entries()) read_service(service);
      export_devices({}, {});
    } else {
      read_azure(root);
    }
  }

  [[nodiscard]] std::optional<std::string> script() const { return script_.script(); }

 private:
  /// A service of Docker Compose. Its command is the arguments of its entrypoint.
  void read_service(const ExpandedNode& service) {
    if (!service.is_map()) return;
    if (const auto devices = node_at(service, {"deploy", "resources", "reservations", "devices"})) {
      for (const ExpandedNode& each : items_of(*devices))
        count(number_at(each, {"count"}), std::max<std::int64_t>(number_at(service, {"deploy", "replicas"}), 1));
    }
    const JobVariables variables = variables_at(service, "environment");
    const auto entrypoint = service.find("entrypoint"), command = service.find("command");
    const bool has_entrypoint = entrypoint && !entrypoint->is_null();
    if (command && command->is_scalar() && !has_entrypoint) {
      JobText text = script_.text_of(*command);
      text.text = with_single_dollars(text.text);
      script_.add_text(text, variables);
      return;
    }
    std::vector<JobText> words;
    for (const auto& part : {entrypoint, command}) {
      if (!part || part->is_null()) continue;
      for (JobText& word : part->is_scalar() ? split(script_.text_of(*part)) : words_of(*part)) {
        word.text = with_single_dollars(word.text);
        words.push_back(std::move(word));
      }
    }
    script_.add_words(std::move(words), variables);
  }

  /// Compose reads `$$` as `$` [compose-spec, 12-interpolation.md].
  static std::string with_single_dollars(std::string_view text) {
    std::string all;
    for (std::size_t at = 0; at < text.size(); ++at) {
      all += text[at];
      if (text.substr(at).starts_with("$$")) ++at;
    }
    return all;
  }

  /// The words of a command line, each with its line. A line with quotes stays whole.
  static std::vector<JobText> split(const JobText& text) {
    std::vector<JobText> words;
    const bool has_quotes = text.text.find_first_of("'\"") != std::string::npos;
    std::size_t line = text.line;
    for (std::size_t at = 0; at < text.text.size();) {
      const std::size_t end = std::min(text.text.find_first_of(has_quotes ? "\n" : " \t\n", at), text.text.size());
      std::string word = text.text.substr(at, end - at);
      if (word.ends_with('\\')) word.pop_back();
      if (!word.empty()) words.push_back({.text = std::move(word), .line = line, .is_shell = true});
      if (text.is_block && end < text.text.size() && text.text[end] == '\n') ++line;
      at = end + 1;
    }
    return words;
  }

  /// A command job of Azure ML, or a pipeline of such jobs.
  void read_azure(const ExpandedNode& root) {
    const auto schema = root.find("$schema");
    const bool is_azure = (schema && scalar_text(*schema).find("azureml") != std::string::npos) || root.find("distribution");
    if (!is_azure) return;
    const AzureInputs of_pipeline = inputs_of(root);
    if (const auto jobs = root.find("jobs"); jobs && jobs->is_map()) {
      for (const auto& [name, job] : jobs->entries()) read_azure_job(job, of_pipeline);
    }
    read_azure_job(root, of_pipeline);
    export_devices({}, {});
  }

  void read_azure_job(const ExpandedNode& job, const AzureInputs& of_pipeline) {
    const auto command = node_at(job, {"command"});
    if (!command) return;
    count(number_at(job, {"distribution", "process_count_per_instance"}),
          std::max<std::int64_t>(number_at(job, {"resources", "instance_count"}), 1));
    JobText text = script_.text_of(*command);
    text.text = filled_in(text.text, inputs_of(job), of_pipeline);
    script_.add_text(text, variables_at(job, "environment_variables"));
  }

  /// Finds the containers of a job of Kubernetes. `copies`: how often the part runs.
  void walk(const ExpandedNode& node, std::int64_t copies) {
    if (node.is_sequence()) {
      for (const ExpandedNode& each : node.items()) walk(each, copies);
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
    // Labels of nodes by Google's and NVIDIA's device plugins.
    for (const std::string_view label : {"cloud.google.com/gke-accelerator", "nvidia.com/gpu.product"}) {
      if (const auto type = node_at(node, {"nodeSelector", label})) take_name(scalar_text(*type), *type);
    }
    for (const auto& [key, value] : node.entries()) {
      const std::string name = scalar_text(key);
      if (name != "env" && name != "initContainers" && name != "metadata") walk(value, copies);
    }
  }

  void count(std::int64_t devices, std::int64_t nodes) {
    if (devices == 0) return;
    differ_ = differ_ || (devices_ > 0 && devices_ != devices);
    devices_ = devices;
    nodes_ = std::min(nodes_ + nodes, most_devices);
  }

  void take_devices(const std::optional<ExpandedNode>& node) {
    if (!node || node->is_sequence()) return;
    const Devices devices = devices_in(*node);
    devices_ = devices.count;
    take_name(devices.name, *node);
  }

  void take_name(const std::string& name, const ExpandedNode& at) {
    const bool is_word = std::ranges::all_of(name, [](char c) { return goes_on_in_shell_name(c) || c == '-'; });
    if (name.empty() || !is_word) return;
    differ_in_name_ = differ_in_name_ || (!name_.empty() && name_ != name);
    name_ = name;
    name_line_ = script_.line_of(at);
  }

  /// Adds the number of nodes, and of devices on each, as variables of the script. The devices' name becomes a request of
  /// Slurm, in which scripts name devices.
  void export_devices(std::initializer_list<std::string_view> nodes, std::initializer_list<std::string_view> devices) {
    if (differ_ || nodes_ == 0) return;
    std::string text = fmt::format("export NNODES={}", nodes_);
    for (const std::string_view name : nodes) text += name.empty() ? "" : fmt::format(" {}={}", name, nodes_);
    if (devices_ > 0) {
      text += fmt::format(" NPROC_PER_NODE={}", devices_);
      for (const std::string_view name : devices) text += fmt::format(" {}={}", name, devices_);
    }
    script_.add_first(text);
    if (devices_ == 0 || name_.empty() || differ_in_name_) return;
    script_.add_directive(name_line_, fmt::format("#SBATCH --gres=gpu:{}:{}", name_, devices_));
  }

  void add_container(const ExpandedNode& container) {
    const JobVariables variables = variables_at(container, "env");
    const auto command = container.find("command");
    if (command && command->is_scalar() && !command->is_null()) {
      add_text(*command, variables);
      return;
    }
    std::vector<JobText> words;
    for (const std::string_view key : {"command", "args"}) {
      if (const auto list = container.find(key)) {
        for (JobText& word : words_of(*list)) words.push_back(std::move(word));
      }
    }
    script_.add_words(std::move(words), variables);
  }

  [[nodiscard]] std::vector<JobText> words_of(const ExpandedNode& list) const {
    std::vector<JobText> words;
    if (list.is_scalar() && !list.is_null()) words.push_back(script_.text_of(list));
    for (const ExpandedNode& each : items_of(list)) {
      if (each.is_scalar() && !each.is_null()) words.push_back(script_.text_of(each));
    }
    return words;
  }

  bool add_text(const ExpandedNode& node, const JobVariables& variables) {
    return node.is_scalar() && !node.is_null() && script_.add_text(script_.text_of(node), variables);
  }

  ClusterScript script_;
  std::int64_t devices_ = 0, nodes_ = 0;
  bool differ_ = false;  ///< whether containers have different numbers of devices
  std::string name_;     ///< name of the devices: `H100`
  std::size_t name_line_ = 0;
  bool differ_in_name_ = false;
};

bool may_start_command(const std::string& text) {
  constexpr std::array<std::string_view, 5> keys{"run:", "command:", "commands:", "args:", "entrypoint:"};
  constexpr std::array<std::string_view, 9> marks{
      "apiVersion:",      "num_nodes:", "resources:", "setup:",       "searcher:",
      "workerPoolSpecs:", "services:",  "$schema:",   "distribution:"};
  const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  return std::ranges::any_of(keys, says) && std::ranges::any_of(marks, says);
}

}  // namespace

std::optional<std::string> script_of_job(const std::string& text, const std::string& path) {
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_yaml || text.find('\n') == std::string::npos || text.starts_with("#!") || !may_start_command(text))
    return std::nullopt;
  ClusterJobReader reader(text);
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find("\n---", at);
    const std::size_t end = found == std::string::npos ? text.size() : found + 1;
    const std::size_t first = line;
    std::string document = text.substr(at, end - at);
    if (document.starts_with("---")) document.replace(0, 3, "   ");
    line += static_cast<std::size_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at = end;
    try {
      // An empty document, or one that is not valid YAML, is not a job.
      if (const auto root = ExpandedNode::parse(document, path)) reader.read(*root, first);
    } catch (const Error&) {
      return std::nullopt;  // the reader of settings reports the error
    }
  }
  return reader.script();
}

}  // namespace ddl
