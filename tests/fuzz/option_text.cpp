// Fuzzes the values of options that are small languages: --degrees, --placement, --strategy, --plan, --what-if, --price,
// --budget, --train-tokens, --where, --margin, the parameters in a model's name, and the device and the network of a
// simulation.

#include <cmath>

#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/network/sweep/transports/simulated/network_text.hpp"
#include "calibration/runs/runs.hpp"
#include "cli/options/goals.hpp"
#include "cli/options/plan_notation.hpp"
#include "cli/options/price.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/options/what_if.hpp"
#include "core/margin.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/simulated/device_text.hpp"
#include "tests/fuzz/fuzzer.hpp"

namespace ddl {
namespace {

void read_degrees(const std::string& text) {
  Plan plan;
  if (!succeeds([&] { parse_degrees(text, plan); })) return;
  require(plan.mesh.devices() >= 1, "a plan without devices");
  // The printed form separates degrees by blanks, and omits those that are 1.
  std::string printed = degrees_text(plan.mesh);
  if (plan.mesh.family() == 0) return;
  for (char& c : printed) {
    if (c == ' ') c = ',';
  }
  Plan again;
  require(succeeds([&] { parse_degrees(printed, again); }), "degrees are refused as they were printed");
  require(again == plan, "degrees are read back as others");
}

void read_placement(const std::string& text) {
  Placement placement{};
  if (!succeeds([&] { placement = parse_placement(text); })) return;
  Family axes = 0;
  for (const Axis axis : placement) axes |= family_bit(axis);
  require(axes == (1U << axis_count) - 1, "a placement that leaves an axis out");
}

void read_family(const std::string& text) {
  const std::optional<Family> family = parse_family(text);
  require(!family || parse_family(family_name(*family)) == family, "a family is read back as another one");
}

void read_device(const std::string& text) {
  SimulatedDevice device;
  if (!succeeds([&] { device = parse_simulated_device(text, "fuzzed"); })) return;
  require(device.peak.value() > 0 && device.bandwidth.value() > 0 && device.latency.value() >= 0, "a device without rates");
}

void read_network(const std::string& text) {
  SimulatedNetwork network;
  if (!succeeds([&] { network = parse_simulated_network(text, "fuzzed"); })) return;
  require(network.ranks >= 1 && network.nodes >= 1 && network.ranks % network.nodes == 0, "a network without ranks");
  // With at most 16 ranks, each input is timed quickly.
  if (network.ranks > 16) return;
  const std::unique_ptr<Transport> transport = make_simulated_network(network);
  std::vector<int> all;
  for (int rank = 0; rank < network.ranks; ++rank) all.push_back(rank);
  const ExchangeStep step{.operation = SweepOperation::allreduce, .bytes = 1024, .groups = {all}};
  for (const std::vector<Seconds>& times : transport->time(step, 2)) {
    for (const Seconds time : times) require(std::isfinite(time.value()) && time.value() >= 0, "a time that is none");
  }
}

void read_plan_word(const std::string& text) {
  const auto plan = result_of([&] { return parse_plan_word(text); });
  if (!plan) return;
  const std::string written = plan_word(*plan);
  static_cast<void>(plan_words(*plan));
  const auto again = result_of([&] { return parse_plan_word(written); });
  require(again.has_value(), "a plan is refused as it was written");
  require(plan_word(*again) == written, "a plan is read back as another one");
}

void read_amounts(const std::string& text) {
  UnitProblem problem;
  if (const auto prices = parse_prices(text, problem)) {
    for (const DevicePrice& price : *prices)
      require(std::isfinite(price.per_hour) && price.per_hour > 0, "a price that is none");
  }
  const auto money = parse_money(text, problem);
  require(!money || (std::isfinite(money->amount) && money->amount > 0), "an amount of money that is none");
  const auto tokens = parse_token_count(text, problem);
  if (!tokens) return;
  require(std::isfinite(*tokens) && *tokens >= 1, "a number of tokens that is none");
  require(parse_token_count(print_token_count(*tokens), problem) == tokens,
          "a number of tokens is read back as another one");
}

void read_what_if(const std::string& text) {
  const auto supposed = result_of([&] { return parse_what_if(text); });
  if (!supposed) return;
  for (const SupposedChange& change : supposed->changes)
    require(std::isfinite(change.factor) && change.factor > 0, "a factor that is none");
}

/// Reads parameters after the name of a small model. A text without an `@` at its beginning has none.
void read_parameters(const std::string& text) {
  constexpr std::size_t longest = 200;
  if (!text.starts_with('@') || text.size() > longest || text.find('/') != std::string::npos) return;
  const auto model = result_of([&] { return load_model("bert-base" + text); });
  require(!model || (model->parameters() >= 0 && std::isfinite(model->macs())), "a model that is none");
}

void read_margin(const std::string& text) {
  UnitProblem problem;
  const std::optional<Margin> margin = parse_margin(text, problem);
  if (!margin) {
    require(!problem.message.empty(), "a margin is refused without a reason");
    return;
  }
  require(parse_margin(print_margin(*margin), problem) == margin, "a margin is read back as another one");
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  ddl::read_degrees(text);
  ddl::read_placement(text);
  ddl::read_family(text);
  ddl::read_device(text);
  ddl::read_network(text);
  ddl::read_margin(text);
  ddl::read_plan_word(text);
  ddl::read_amounts(text);
  ddl::read_what_if(text);
  ddl::read_parameters(text);
  ddl::succeeds([&] { static_cast<void>(ddl::matches(ddl::MeasuredRun(), ddl::parse_where(text))); });
  return 0;
}
