// Tests how `serve` handles requests before any search.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands/serve/guard.hpp"
#include "cli/commands/serve/http.hpp"
#include "cli/commands/serve/question.hpp"
#include "cli/commands/serve/turns.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace ddl::serve_tests {
namespace {

HttpRequest asking(const std::string& host, std::vector<std::pair<std::string, std::string>> headers = {}) {
  headers.emplace_back("host", host);
  return {"GET", "/answer", "", std::move(headers)};
}

}  // namespace

TEST_CASE("a query is decoded as browsers encode it, and invalid escapes stay") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(decoded_query("a=1&b=x+y&c=%2Fz%2f&&d&e==&%41=%zz%4") ==
        Pairs{{"a", "1"}, {"b", "x y"}, {"c", "/z/"}, {"d", ""}, {"e", "="}, {"A", "%zz%4"}});
  CHECK(decoded_query("").empty());
}

TEST_CASE("encoding and decoding are inverse for all bytes") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(decoded_query("x=" + encoded_query_value(all)).front().second == all);
}

TEST_CASE("names of headers are case-insensitive") {
  CHECK(HttpRequest{"GET", "/", "", {{"hOST", "a"}}}.header("Host") == "a");
  CHECK(HttpRequest{"GET", "/", "", {}}.header("Host").empty());
}

TEST_CASE("a server for this machine only accepts its own names, and no other address") {
  const KnownHosts hosts = known_hosts("127.0.0.1", "box");
  for (const char* name : {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:9"})
    CHECK(!refusal_of(asking(name), hosts));
  for (const char* name : {"box", "10.0.0.1", "localhost.evil.example", "evil.example", "", ":80", "[", "[]"}) {
    INFO(name);
    REQUIRE(refusal_of(asking(name), hosts));
    CHECK(refusal_of(asking(name), hosts)->status == 421);
  }
}

TEST_CASE("a server for other machines accepts its host name and addresses, and no other name") {
  const KnownHosts hosts = known_hosts("0.0.0.0", "Box");
  for (const char* name : {"box:80", "10.0.0.1", "[fe80::1]:80"}) CHECK(!refusal_of(asking(name), hosts));
  CHECK(refusal_of(asking("evil.example"), hosts));
}

TEST_CASE("requests from pages of other sites are refused") {
  const KnownHosts hosts = known_hosts("127.0.0.1", "");
  CHECK(!refusal_of(asking("localhost:80", {{"Origin", "http://localhost:80"}}), hosts));
  for (const char* origin : {"http://localhost:81", "http://evil.example", "null", "https://localhost"})
    CHECK(refusal_of(asking("localhost:80", {{"Origin", origin}}), hosts)->status == 403);
  CHECK(refusal_of(asking("localhost", {{"Sec-Fetch-Site", "cross-site"}}), hosts)->status == 403);
}

TEST_CASE("a question has the values of its link, in the order of the controls, with defaults for missing ones") {
  const PageQuestion question = question_of("gpus= 16 &model=resnet50&batch=", {});
  CHECK(question.query() == "model=resnet50&gpus=16");
  CHECK(words_of(question).words == std::vector<std::string>{"recommend", "--model=resnet50", "--gpus=16"});
  CHECK(question_of("", {}).query() == "model=llama3-8b&machine=dgx-h100&gpus=64");
}

TEST_CASE("proposals of a hint replace the value that the message quotes") {
  const PageQuestion question = question_of("model=resnet51@width=2&gpus=8", {});
  const auto found = mended(question, "unknown model 'resnet51'", "did you mean 'resnet50' or 'resnet101'?");
  REQUIRE(found.size() == 2);
  CHECK(found[0].first == "resnet50");
  CHECK(found[0].second.query() == "model=resnet50@width%3D2&gpus=8");
  CHECK(found[1].second.value_of("model") == "resnet101@width=2");
  CHECK(mended(question, "unknown model 'other'", "did you mean 'resnet50'?").empty());
  CHECK(mended(question, "no plan is possible", "").empty());
  // A hint that lists relatives has no quotes.
  const auto relatives =
      mended(question, "unknown model 'resnet51'", "nearest of its family: resnet50, resnet101; or import");
  REQUIRE(relatives.size() == 2);
  CHECK(relatives[1].first == "resnet101");
}

TEST_CASE("a question may only name offered files") {
  const OfferedFiles files{{"./a,b.yaml", "/x/net.yaml"}, {"ours.yaml"}};
  CHECK_NOTHROW(question_of("model=./a,b.yaml&machine=ours.yaml,abci", files));
  CHECK_NOTHROW(question_of("model=/x/net.yaml@width=2,resnet50", files));
  for (const char* query :
       {"model=ours.yaml", "machine=/x/net.yaml", "model=/x/../x/net.yaml", "software=ours.yaml", "model=a.yml",
        "model=a%00b", "model=a%0Ab", "machine=./a,b.yaml", "model=.", "model=..", "model=resnet50,.@tokens%3D2"})
    CHECK_THROWS_AS(question_of(query, files), Error);
}

TEST_CASE("the answer to the name of a folder is that to a name that does not exist") {
  for (const char* folder : {"serve-test-folder", "serve-test@folder", "resnet50"}) {
    std::filesystem::create_directory(folder);
    std::ofstream(std::filesystem::path(folder) / "config.json") << "\"model_type\": a secret\n";
  }
  const auto refused = [](const char* query) { return error_of([&] { static_cast<void>(question_of(query, {})); }); };
  for (const char* query : {"model=serve-test-folder", "model=serve-test-folder@tokens%3D2", "model=serve-test@folder"})
    CHECK(refused(query).starts_with("unknown model 'serve-test"));
  CHECK_NOTHROW(question_of("model=resnet50,ResNet50@classes%3D10", {}));
  for (const char* folder : {"serve-test-folder", "serve-test@folder", "resnet50"}) std::filesystem::remove_all(folder);
}

TEST_CASE("the levels of a question's computation double") {
  // 0.25 s, then twice as long in total for each level.
  CHECK(Turns::level_of(0) == 0);
  CHECK(Turns::level_of(0.24) == 0);
  CHECK(Turns::level_of(0.25) == 1);
  CHECK(Turns::level_of(0.49) == 1);
  CHECK(Turns::level_of(0.5) == 2);
  CHECK(Turns::level_of(8) == 6);
  CHECK(Turns::level_of(1e300) == Turns::level_of(1e301));
}

TEST_CASE("a question that has computed for long gives way to a new question, and continues after it") {
  const std::atomic<bool> stays = false;
  Turns turns(1);
  std::optional<Turns::Turn> longer;
  longer.emplace(turns, stays);
  longer->give_way(100);  // no other question waits
  std::atomic<bool> is_asked = false, is_answered = false;
  std::thread other([&] {
    is_asked = true;
    const Turns::Turn shorter(turns, stays);
    is_answered = true;
  });
  while (!is_asked) std::this_thread::yield();
  // The other question has computed for as long as a question that has just begun.
  for (int i = 0; i < 100; ++i) longer->give_way(0);
  CHECK(!is_answered);
  for (int i = 0; i < 10'000 && !is_answered; ++i) {
    longer->give_way(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(is_answered);
  const std::atomic<bool> given_up = true;
  const Turns::Turn gone(turns, given_up);  // does not wait, although no turn is free
  longer.reset();
  other.join();
}

}  // namespace ddl::serve_tests
