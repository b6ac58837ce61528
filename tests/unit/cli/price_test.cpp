#include "cli/options/price.hpp"

#include <string>

#include "cli/documents/throughput.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace price_tests {

using namespace ddl;

namespace {

Machine machine_with(const std::string& name, const std::string& device) {
  Machine machine;
  machine.name = name;
  machine.device.name = device;
  return machine;
}

std::vector<DevicePrice> prices_of(const std::string& text) {
  UnitProblem problem;
  auto prices = parse_prices(text, problem);
  INFO(text << ": " << problem.message);
  REQUIRE(prices);
  return *prices;
}

}  // namespace

TEST_CASE("a price is read with its currency before or after the number, and with or without the hour") {
  for (const std::string text :
       {"2.5USD/h", "2.5 USD/h", "USD 2.5/h", "$2.5", "$2.50/hour", "2.5$/h", "2.5 USD/GPU-h", "2.5USD"}) {
    INFO(text);
    const std::vector<DevicePrice> prices = prices_of(text);
    REQUIRE(prices.size() == 1);
    CHECK(prices.front().device.empty());
    CHECK(prices.front().per_hour == 2.5);
    CHECK(prices.front().currency == "USD");
  }
  CHECK(prices_of("2.5").front().currency.empty());
  CHECK(prices_of("2,b200=4EUR").back().currency == "EUR");
}

TEST_CASE("an invalid price is refused with a hint") {
  for (const std::string text : {"", "h100=", "=2", "2.5USD/d", "2.5XX", "2.5XYZ/h", "USB 2", "USD2EUR", "-1", "0", "nan",
                                 "inf", "1e9", "2,3", "h100=2,H100=3", "2.5 USD per hour", "2.5USD/h/h", ",", "h100=2,"}) {
    INFO(text);
    UnitProblem problem;
    CHECK_FALSE(parse_prices(text, problem).has_value());
    CHECK_FALSE(problem.message.empty());
    CHECK_FALSE(problem.hint.empty());
  }
}

TEST_CASE("a price applies to the machine or device whose name has its words") {
  const std::vector<DevicePrice> prices = prices_of("h100=2.5USD,h200=4EUR,1");
  const auto per_hour = [&](const Machine& machine) { return price_for(prices, machine)->per_hour; };
  CHECK(per_hour(machine_with("dgx-h100", "NVIDIA H100 SXM")) == 2.5);
  CHECK(per_hour(machine_with("cluster", "H200-141GB")) == 4);
  // H200 is a part of GH200, but not a word of it.
  CHECK(per_hour(machine_with("alps", "GH200")) == 1);
  CHECK(price_for(prices_of("h100=2"), machine_with("alps", "GH200")) == nullptr);
}

TEST_CASE("a price without a currency keeps the currency of the machine's price") {
  Machine machine = machine_with("dgx-h100", "H100");
  machine.price_per_gpu_hour = 12;
  machine.currency = "EUR";
  apply_price(prices_of("2.5"), machine);
  CHECK(machine.price_per_gpu_hour == 2.5);
  CHECK(machine.currency == "EUR");
  apply_price(prices_of("3USD"), machine);
  CHECK(machine.currency == "USD");
  apply_price({}, machine);
  CHECK(machine.price_per_gpu_hour == 3);
}

TEST_CASE("a plan pays for whole nodes if the machine is rented by nodes, unless the user states the price of a GPU") {
  Machine machine = machine_with("aws-p4d", "A100");
  machine.price_per_gpu_hour = 2.745;
  machine.levels = {{.name = "node", .units = 8}};
  const auto devices = [&](int data) {
    Plan plan;
    plan.mesh.set(Axis::data, data);
    return rented_devices(plan, machine);
  };
  CHECK(devices(1) == 1);
  machine.rents_nodes = true;
  CHECK(devices(1) == 8);
  CHECK(devices(8) == 8);
  CHECK(devices(9) == 16);
  apply_price(prices_of("2"), machine);
  CHECK(devices(9) == 9);
  apply_price(std::vector<DevicePrice>{{.device = {}, .per_hour = 2, .of_nodes = true}}, machine);
  CHECK(devices(9) == 16);
}

TEST_CASE("a price for a device that no machine has is refused") {
  const std::vector<Machine> machines{machine_with("dgx-h100", "H100"), machine_with("dgx-b200", "B200")};
  CHECK_NOTHROW(refuse_unused_prices(prices_of("h100=2,b200=4"), machines));
  CHECK(error_of([&] { refuse_unused_prices(prices_of("h100=2,b300=4"), machines); }) ==
        "--price: no requested machine has the device 'b300'\nhint: dgx-h100 has the device 'H100'");
}

}  // namespace price_tests
