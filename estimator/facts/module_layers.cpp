#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "estimator/facts/passes.hpp"

namespace ddl {
namespace {

/// Finds the modules of one block, whose layers are [first, last).
class BlockModules {
 public:
  BlockModules(const Model& model, const ModelFacts& facts, int first, int last, std::vector<RecomputeModules>& modules)
      : model_(model), facts_(facts), first_(first), last_(last), modules_(modules) {}

  void find() {
    for (int layer = first_; layer < last_; ++layer) {
      if (is_norm(layer)) norms_.emplace(at(layer).inputs.front(), layer);
    }
    for (int layer = first_; layer < last_; ++layer) {
      if (at(layer).operation->is_attention()) add(layer, RecomputeModule::core_attn);
      if (is_in_experts(layer) && !is_matrix(layer)) add(layer, RecomputeModule::moe_act);
      if (type(layer) == "latent_keys_and_values") find_up_projections(layer);
      if (type(layer) == "add") find_branches(at(layer).inputs);
    }
  }

 private:
  [[nodiscard]] const Layer& at(int layer) const { return model_.layers[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] std::string_view type(int layer) const { return at(layer).operation->type(); }
  [[nodiscard]] bool is_matrix(int layer) const { return facts_.divisible[static_cast<std::size_t>(layer)].matrix; }
  [[nodiscard]] bool is_in_experts(int layer) const { return facts_.in_experts[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] bool is_norm(int layer) const {
    return type(layer) == "norm" && facts_.divisible[static_cast<std::size_t>(layer)].tokens;
  }
  void add(int layer, RecomputeModule module) { modules_[static_cast<std::size_t>(layer)].add(module); }

  /// Returns, for each term of a sum, the layers of the block that only this term depends on, in
  /// order. The residual is left out, because the other terms also depend on the residual. Empty if
  /// the search visits more layers than a part of a transformer block has.
  [[nodiscard]] std::vector<std::vector<int>> branches_of(const std::vector<int>& terms) const {
    constexpr std::size_t most_layers = 300;
    constexpr int several = -1;
    std::map<int, int, std::greater<>> term_of;  // layers to be examined, with the term that reads them, or `several`
    int alone = 0;
    const auto reach = [&](int layer, int term) {
      if (layer < first_) return;
      const auto [entry, is_new] = term_of.try_emplace(layer, term);
      if (is_new) {
        alone += term == several ? 0 : 1;
      } else if (entry->second != term && entry->second != several) {
        entry->second = several;
        --alone;
      }
    };
    for (std::size_t term = 0; term < terms.size(); ++term) reach(terms[term], static_cast<int>(term));
    std::vector<std::vector<int>> branches(terms.size());
    // Readers are visited before their inputs. If several terms depend on a layer, they also depend on the layer's inputs.
    // The walk stops when several terms depend on each of the remaining layers.
    for (std::size_t seen = 0; alone > 0; ++seen) {
      if (seen == most_layers) return {};
      const auto [layer, term] = *term_of.begin();
      term_of.erase(term_of.begin());
      if (term != several) {
        --alone;
        branches[static_cast<std::size_t>(term)].push_back(layer);
      }
      for (const int input : at(layer).inputs) reach(input, term);
    }
    for (std::vector<int>& branch : branches) std::reverse(branch.begin(), branch.end());
    return branches;
  }

  /// Finds the modules in the terms of a sum that adds a part of the block to the residual, or
  /// routed experts to shared experts.
  void find_branches(const std::vector<int>& terms) {
    const std::vector<std::vector<int>> branches = branches_of(terms);
    if (branches.empty()) return;
    const auto is_empty = [](const std::vector<int>& branch) { return branch.empty(); };
    const bool is_residual = std::any_of(branches.begin(), branches.end(), is_empty);
    const auto is_routed = [&](const std::vector<int>& branch) { return has(branch, "combine"); };
    const auto attends = [&](const std::vector<int>& branch) {
      return std::any_of(branch.begin(), branch.end(), [&](int layer) { return at(layer).operation->is_attention(); });
    };
    const bool adds_experts = !is_residual && std::any_of(branches.begin(), branches.end(), is_routed);
    const bool is_parallel_to_attention = std::any_of(branches.begin(), branches.end(), attends);
    for (std::size_t term = 0; term < terms.size(); ++term) {
      const std::vector<int>& branch = branches[term];
      if (is_residual && is_empty(branch)) find_norms(terms[term]);
      if (is_routed(branch) && is_residual) add_module(branch, RecomputeModule::moe);
      if (!is_perceptron(branch)) continue;
      if (adds_experts) add_module(branch, RecomputeModule::shared_experts);
      if (is_residual || is_parallel_to_attention) add_module(branch, RecomputeModule::mlp);
    }
  }

  [[nodiscard]] bool has(const std::vector<int>& branch, std::string_view wanted) const {
    return std::any_of(branch.begin(), branch.end(), [&](int layer) { return type(layer) == wanted; });
  }
  /// Returns whether the branch consists of token-wise matrix products, without experts.
  [[nodiscard]] bool is_perceptron(const std::vector<int>& branch) const {
    const auto is_of_tokens = [&](int layer) {
      return facts_.divisible[static_cast<std::size_t>(layer)].tokens || type(layer) == "fully_connected";
    };
    return !has(branch, "combine") &&
           std::any_of(branch.begin(), branch.end(), [&](int layer) { return is_matrix(layer); }) &&
           std::all_of(branch.begin(), branch.end(), is_of_tokens);
  }

  /// Adds the layers of a branch to a module. The norms at the branch's start, and the dropout,
  /// norm and scale at its end, are left out.
  void add_module(const std::vector<int>& branch, RecomputeModule module) {
    const auto is_outside = [&](int input) { return !std::binary_search(branch.begin(), branch.end(), input); };
    const auto is_before = [&](int layer) {
      return is_norm(layer) && std::all_of(at(layer).inputs.begin(), at(layer).inputs.end(), is_outside);
    };
    const auto is_behind = [&](int layer) { return is_norm(layer) || type(layer) == "dropout" || type(layer) == "scale"; };
    std::size_t end = branch.size();
    while (end > 0 && is_behind(branch[end - 1])) --end;
    for (std::size_t i = 0; i < end; ++i) {
      if (!is_before(branch[i])) add(branch[i], module);
    }
  }

  /// Adds the norms that read a residual connection.
  void find_norms(int residual) {
    const auto [from, to] = norms_.equal_range(residual);
    for (auto norm = from; norm != to; ++norm) add(norm->second, RecomputeModule::layernorm);
  }

  /// Finds the projections of the keys, values and queries of one attention, each back to the
  /// matrix product that computes it.
  void find_up_projections(int keys) {
    add(keys, RecomputeModule::mla_up_proj);
    for (int layer = keys + 1; layer < last_; ++layer) {
      const std::vector<int>& inputs = at(layer).inputs;
      if (!at(layer).operation->is_attention() || std::find(inputs.begin(), inputs.end(), keys) == inputs.end()) continue;
      for (const int input : inputs) {
        for (int maker = input == keys ? -1 : input; maker >= first_; maker = at(maker).inputs.front()) {
          add(maker, RecomputeModule::mla_up_proj);
          if (is_matrix(maker)) break;
        }
      }
    }
  }

  const Model& model_;
  const ModelFacts& facts_;
  int first_, last_;
  std::multimap<int, int> norms_;  ///< norms, listed by the tensor that they read
  std::vector<RecomputeModules>& modules_;
};

}  // namespace

std::vector<RecomputeModules> module_layers(const Model& model, const ModelFacts& facts) {
  const auto count = static_cast<int>(model.layers.size());
  std::vector<RecomputeModules> modules(model.layers.size());
  const auto is_of_transformers = [](const Layer& layer) {
    return layer.operation->is_attention() || layer.operation->type() == "dispatch";
  };
  const bool is_transformer = std::any_of(model.layers.begin(), model.layers.end(), is_of_transformers);
  for (int first = 0; first < count && is_transformer;) {
    const int block = model.layers[static_cast<std::size_t>(first)].block;
    int last = first + 1;
    while (last < count && model.layers[static_cast<std::size_t>(last)].block == block) ++last;
    if (block >= 0) BlockModules(model, facts, first, last, modules).find();
    first = last;
  }
  // Attention outside of blocks is recomputed like attention inside blocks.
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    if (model.layers[layer].operation->is_attention()) modules[layer].add(RecomputeModule::core_attn);
  }
  return modules;
}

bool attends(const Operation& operation) {
  return operation.type().ends_with("attention") && operation.type() != "additive_attention";
}

}  // namespace ddl
