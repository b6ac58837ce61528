#include "profiler/profiles/shard.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/write_file.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/measurement/problems.hpp"
#include "profiler/profiles/profile_merge.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

ProfilePlan plan_of(const std::string& model, const std::vector<std::int64_t>& samples) {
  ProfilePlan plan{.model = load_model(model), .sequences = samples};
  std::set<std::string> lines;
  for (const std::int64_t each : samples) {
    for (CountedProblem& problem : problems_of(*plan.model, each, plan.precision, plan.optimizer)) {
      if (lines.insert(problem.line).second) plan.problems.push_back(problem);
    }
  }
  return plan;
}

std::string error_in_shard(const std::string& text) {
  return error_of([&] { static_cast<void>(parse_shard("--shard", text)); });
}

/// Is a separate folder with the shards of a plan of `lines`, one row per line, and the profile
/// that a single process would have written.
class Shards {
 public:
  Shards(std::size_t lines, int count) {
    std::filesystem::create_directories(folder_);
    for (std::size_t i = 0; i < lines; ++i)
      plan_.problems.push_back({fmt::format("activation kind=relu in={} samples=1 precision=fp32 pass=forward", i + 1), 1});
    for (int index = 0; index < count; ++index) {
      const PlanShard part = shard_of(plan_, {index, count});
      Profile profile{.head = head()};
      profile.head.shard = ProfileShard{index, count, static_cast<std::int64_t>(part.places.size()), plan_name(plan_)};
      profile.head.host = fmt::format("node{}", index);
      for (std::size_t item = 0; item < part.places.size(); ++item)
        profile.rows.push_back(row(part.plan.line(item), static_cast<std::int64_t>(part.places[item])));
      profiles_.push_back(std::move(profile));
    }
  }
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;
  ~Shards() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Profile& at(std::size_t index) { return profiles_[index]; }
  [[nodiscard]] std::string path(std::size_t index) const { return (folder_ / fmt::format("{}.profile", index)).string(); }
  /// Merges these shards in this order.
  MergedProfile merge(const std::vector<std::size_t>& indices, bool partial = false) {
    std::vector<std::string> paths;
    for (const std::size_t index : indices) {
      write_file(path(index), print_profile(profiles_[index]));
      paths.push_back(path(index));
    }
    return merge_profiles(paths, partial);
  }
  std::string error(const std::vector<std::size_t>& indices, bool partial = false) {
    return error_of([&] { static_cast<void>(merge(indices, partial)); });
  }
  [[nodiscard]] std::string whole() const {
    Profile profile{.head = head()};
    for (const CountedProblem& problem : plan_.problems) profile.rows.push_back(row(problem.line, 0));
    return print_profile(profile);
  }

 private:
  static ProfileHead head() {
    return {.model = "net",
            .backend = "simulated",
            .device = "d",
            .caches = "step",
            .date = "2026-11-21T20:26:49Z",
            .command = "ddl-oracle profile net",
            .details = {{"library", "none 1.2"}, {"temperature", "40 degrees C"}}};
  }
  static ProfileRow row(const std::string& line, std::int64_t place) {
    ProfileRow row{
        .measurement = {.problem = line, .samples = summarize({1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6}, {}), .algorithm = "x"},
        .layers = 1};
    row.place = place;
    return row;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  fmt::format("ddl-shards-{}", std::chrono::steady_clock::now().time_since_epoch().count());
  ProfilePlan plan_;
  std::vector<Profile> profiles_;
};

}  // namespace

TEST_CASE("shards are counted from 0, like ranks") {
  CHECK(parse_shard("--shard", "0/1") == Shard{0, 1});
  CHECK(parse_shard("--shard", "15/16") == Shard{15, 16});
  CHECK(error_in_shard("16/16") ==
        "--shard: there is no shard 16 of 16, because shards are numbered from 0, like ranks\nhint: 0/16 to 15/16");
  for (const std::string text :
       {"", "/", "3", "3/", "/3", "a/3", "1/b", "-1/3", "1/0", "0/1000001", "1/2/3", "1 /2", "+1/2"}) {
    INFO(text);
    CHECK_THAT(error_in_shard(text), ContainsSubstring("is not a shard"));
  }
}

TEST_CASE("the shards together are the whole plan, with each problem once and in order") {
  const ProfilePlan plan = plan_of("alexnet", {1, 4});
  for (const int count : {1, 2, 3, 7, 1000}) {
    std::set<std::size_t> assigned;
    std::size_t least = plan.items(), most = 0;
    for (int index = 0; index < count; ++index) {
      const PlanShard part = shard_of(plan, {index, count});
      REQUIRE(part.places.size() == part.plan.items());
      CHECK(std::is_sorted(part.places.begin(), part.places.end()));
      for (std::size_t item = 0; item < part.places.size(); ++item) {
        CHECK(part.plan.line(item) == plan.line(part.places[item]));
        CHECK(assigned.insert(part.places[item]).second);
      }
      least = std::min(least, part.plan.problems.size() + part.plan.sequences.size());
      most = std::max(most, part.plan.problems.size() + part.plan.sequences.size());
    }
    CHECK(assigned.size() == plan.items());
    CHECK(most - least <= 1);
  }
}

TEST_CASE("the longest problems are distributed first") {
  ProfilePlan plan = plan_of("vgg16", {1});
  // The order is: the whole step, the update of the layer with the most parameters, and then
  // problems that move or compute less.
  CHECK(shard_of(plan, {0, 1000}).plan.sequences == std::vector<std::int64_t>{1});
  const PlanShard longest = shard_of(plan, {1, 1000});
  REQUIRE(longest.plan.problems.size() == 1);
  CHECK(longest.plan.line(0) == "update optimizer=sgd parameters=102764544 precision=fp32");
  const auto last = static_cast<int>(plan.problems.size());
  CHECK_THAT(shard_of(plan, {last, 1000}).plan.line(0),
             ContainsSubstring("loss kind=cross_entropy in=1000 samples=1 precision=fp32 pass=backward-data"));
}

TEST_CASE("a line that is requested twice is distributed once") {
  ProfilePlan plan;
  plan.problems.assign(2, {"activation kind=relu in=8 samples=1 precision=fp32 pass=forward", 0});
  CHECK(shard_of(plan, {0, 2}).plan.items() == 1);
  CHECK(shard_of(plan, {1, 2}).plan.items() == 0);
}

TEST_CASE("a plan is identified by its lines") {
  const ProfilePlan plan = plan_of("alexnet", {1});
  CHECK(plan_name(plan) == plan_name(plan_of("alexnet", {1})));
  CHECK(plan_name(plan) != plan_name(plan_of("alexnet", {2})));
  ProfilePlan half = plan;
  half.problems.pop_back();
  CHECK(plan_name(plan) != plan_name(half));
}

TEST_CASE("merged shards equal the profile of a single process") {
  Shards shards(10, 3);
  MergedProfile merged = shards.merge({2, 0, 1});
  CHECK(merged.missing_problems == 0);
  CHECK(merged.missing_shards.empty());
  CHECK(merged.profile.head.host == "node0, node1, node2");
  CHECK(merged.profile.head.source == "3 of 3 shards");
  merged.profile.head.host = merged.profile.head.source = "";
  CHECK(print_profile(merged.profile) == shards.whole());
}

TEST_CASE("merged shards list the details that vary between devices, and have the latest date") {
  Shards shards(4, 2);
  shards.at(1).head.details[1].second = "50 degrees C";
  shards.at(1).head.date = "2026-11-22T00:00:00Z";
  const ProfileHead head = shards.merge({0, 1}).profile.head;
  CHECK(head.details[1].second == "40 degrees C, 50 degrees C");
  CHECK(head.date == "2026-11-22T00:00:00Z");
}

TEST_CASE("shards of different lists of problems are not merged") {
  const auto error = [](const auto& change) {
    Shards shards(4, 2);
    change(shards.at(1));
    return shards.error({0, 1});
  };
  CHECK_THAT(error([](Profile& p) { p.head.device = "e"; }),
             ContainsSubstring("1.profile:4:1: the device is 'e', but that of ") &&
                 ContainsSubstring("is 'd'\n  device: \"e\"\n  ^\nhint: "));
  CHECK_THAT(error([](Profile& p) { p.head.model = "other"; }), ContainsSubstring("1.profile:2:1: the model is 'other'"));
  CHECK_THAT(error([](Profile& p) { p.head.backend = "cuda"; }), ContainsSubstring("the back end is 'cuda'"));
  CHECK_THAT(error([](Profile& p) { p.head.caches = "cold"; }), ContainsSubstring("the state of the caches is 'cold'"));
  CHECK_THAT(error([](Profile& p) { p.head.layout = "channels-last"; }), ContainsSubstring("the layout is 'channels-last'"));
  CHECK_THAT(error([](Profile& p) { p.head.details[0].second = "none 1.3"; }),
             ContainsSubstring("the library is 'none 1.3'"));
  CHECK_THAT(error([](Profile& p) { p.head.details.erase(p.head.details.begin()); }),
             ContainsSubstring("the library is none"));
  CHECK_THAT(error([](Profile& p) { p.head.details.emplace_back("blas", "x"); }), ContainsSubstring("the blas is 'x'"));
  CHECK_THAT(error([](Profile& p) { p.head.shard->plan = "0"; }),
             ContainsSubstring("are shards of different lists of kernels"));
  CHECK_THAT(error([](Profile& p) { p.head.shard->count = 3; }),
             ContainsSubstring("are shards of different lists of kernels"));
  CHECK_THAT(error([](Profile& p) { p.head.shard.reset(); }),
             ContainsSubstring("1.profile:1:1: this profile is not a shard"));
  CHECK_THAT(error([](Profile& p) { p.rows[0].place = 0, p.rows[1].place = 1; }),
             ContainsSubstring("two rows have the index"));
}

TEST_CASE("duplicate, missing or incomplete shards are an error, unless a partial merge is requested") {
  Shards shards(10, 3);
  CHECK_THAT(shards.error({0, 1, 1}), ContainsSubstring("1.profile:9:1: shard 1/3 was already given in") &&
                                          ContainsSubstring("hint: pass each shard once"));
  CHECK_THAT(shards.error({0, 2}), ContainsSubstring("shard 1 of 3 is missing\nhint: measure the shard like") &&
                                       ContainsSubstring("with --shard 1/3, or merge"));
  CHECK_THAT(shards.error({1}), ContainsSubstring("shards 0, 2 of 3 are missing"));
  shards.at(1).rows.pop_back();
  CHECK_THAT(shards.error({0, 1, 2}),
             ContainsSubstring("1.profile:9:1: shard 1/3 has 2 of its 3 problems") && ContainsSubstring("--resume"));
  const MergedProfile merged = shards.merge({0, 1}, true);
  CHECK(merged.profile.rows.size() == 6);
  CHECK(merged.missing_problems == 1);
  CHECK(merged.missing_shards == std::vector<int>{2});
  CHECK(merged.profile.head.source == "2 of 3 shards");
}

TEST_CASE("if many shards are missing, only some are listed") {
  Shards shards(20, 10);
  CHECK_THAT(shards.error({0}), ContainsSubstring("shards 1, 2, 3, 4, 5 and 4 more of 10 are missing"));
}
