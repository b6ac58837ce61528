// `backends` reports the devices of this machine, which no transcript can contain. Only the form of
// the report is checked here.

#include <string>
#include <vector>

#include "cli/report/formats/format.hpp"
#include "cli/report/formats/text.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace backends_tests {

using namespace ddl;

TEST_CASE("backends prints a row for each back end, with its devices or the reason why it has no device") {
  const nlohmann::ordered_json json = run_command({"backends"}).json();
  CHECK(json.at("schema") == 1);
  std::vector<std::string> names;
  bool default_runs = json.at("default").is_null();
  for (const auto& row : json.at("backends")) {
    names.push_back(row.at("name"));
    INFO(row.dump());
    const bool available = row.at("available");
    CHECK(available == !row.at("devices").empty());
    CHECK(available == row.at("problem").is_null());
    CHECK(available == row.at("hint").is_null());
    CHECK_FALSE(row.at("summary").get<std::string>().empty());
    if (!available) CHECK_FALSE(row.at("problem").get<std::string>().empty());
    if (available && row.at("name") == json.at("default")) default_runs = true;
    for (const auto& device : row.at("devices")) {
      CHECK_FALSE(device.at("device").get<std::string>().empty());
      CHECK(device.at("details").is_object());
    }
  }
  CHECK(names == std::vector<std::string>{"cuda", "onednn", "simulated"});
  CHECK(default_runs);
  CHECK(json.at("default") != "simulated");
}

TEST_CASE("backends in text and CSV have the same rows as in JSON") {
  const Report report = run_command({"backends"});
  const std::string text = text_of(report.document, Style(false));
  const std::string csv = csv_of(report.rows());
  CHECK(csv.starts_with("name,available,device,details,problem,hint\n"));
  const auto json = report.json();  // outlives the loop
  for (const auto& row : json.at("backends")) {
    const std::string name = row.at("name");
    INFO(text);
    CHECK(text.find("\n" + name + " ") != std::string::npos);
    CHECK(csv.find("\n" + name + "," + (row.at("available") ? "true" : "false")) != std::string::npos);
    if (!row.at("available")) CHECK(text.find("\n" + name + ": ") != std::string::npos);
  }
}

}  // namespace backends_tests
