// Processes that share work: real ones, forked here as a launcher would start them, some killed in the middle.

#include "profiler/shared_work.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "profiler/part_file.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

namespace fs = std::filesystem;
using Item = std::function<std::optional<std::string>(int rank, std::size_t item)>;

constexpr SharingRule quick{.start = Seconds(1), .poll = Seconds(0.01)};
constexpr SharingRule patient{.start = Seconds(60), .poll = Seconds(0.01)};

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// An output in a folder of its own, and a log of who did what.
class Place {
 public:
  Place() {
    std::string name = fs::temp_directory_path() / "shared-work-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw Error("no folder for the test");
    folder_ = name;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code problem;
    fs::remove_all(folder_, problem);
  }

  [[nodiscard]] std::string output() const { return folder_ / "all.profile"; }
  [[nodiscard]] std::string part(int rank) const { return fmt::format("{}.rank{}", output(), rank); }
  [[nodiscard]] SharedWork work(std::size_t items) const {
    return {.output = output(), .head = "the head\nitem,row\n", .identity = "squares", .items = items};
  }
  void log(const std::string& name, const std::string& text) const {
    const int file = ::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (::write(file, text.data(), text.size()) < 0) throw Error("no log");
    ::close(file);
  }
  [[nodiscard]] std::string logged(const std::string& name) const { return content_of(folder_ / name); }
  /// How often each item was begun.
  [[nodiscard]] std::map<std::size_t, int> begun() const {
    std::map<std::size_t, int> counts;
    std::ifstream in(folder_ / "items");
    for (std::size_t item = 0; in >> item;) ++counts[item];
    return counts;
  }
  /// What lies there beside the logs.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("all.profile")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path folder_;
};

std::string row_text(std::size_t item) { return fmt::format("{},{}", item, item * item); }

/// The output with the rows of all items but some.
std::string expected(std::size_t items, const std::vector<std::size_t>& missing = {}) {
  std::string text = "the head\nitem,row\n";
  for (std::size_t i = 0; i < items; ++i) {
    if (std::find(missing.begin(), missing.end(), i) == missing.end()) text += row_text(i) + "\n";
  }
  return text;
}

struct Launch {
  int ranks = 4;
  std::vector<int> started{};  ///< all, where empty
  SharingRule rule = patient;
  std::map<int, double> late{};        ///< seconds by rank
  std::function<bool(int)> stop = {};  ///< by rank
};

/// Starts the processes, with the variables that mpirun sets. Each logs what came of it under `rankR`.
std::vector<pid_t> start(const Place& place, const SharedWork& work, const Launch& launch, const Item& item) {
  std::vector<pid_t> processes;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    if (!launch.started.empty() && std::count(launch.started.begin(), launch.started.end(), rank) == 0) continue;
    const pid_t process = fork();
    if (process != 0) {
      processes.push_back(process);
      continue;
    }
    int status = 1;
    try {
      if (const auto late = launch.late.find(rank); late != launch.late.end()) pause(late->second);
      setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
      setenv("OMPI_COMM_WORLD_SIZE", std::to_string(launch.ranks).c_str(), 1);
      setenv("OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank).c_str(), 1);
      const auto row = [&](std::size_t i) {
        place.log("items", fmt::format("{}\n", i));
        return item(rank, i);
      };
      const auto stop = [&] { return launch.stop && launch.stop(rank); };
      const SharedResult result = share_work(this_rank(), work, row, stop, launch.rule);
      place.log(fmt::format("rank{}", rank),
                fmt::format("{}{}dead [{}] missing [{}]\n", result.merged ? "merged " : "", result.wrote ? "wrote " : "",
                            fmt::join(result.dead, " "), fmt::join(result.missing, " ")));
      status = 0;
    } catch (const std::exception& error) {
      place.log(fmt::format("rank{}", rank), fmt::format("error: {}\n", error.what()));
    }
    _exit(status);
  }
  return processes;
}

/// How many ended well. A test that hangs is killed by its alarm.
int wait_for(const std::vector<pid_t>& processes) {
  int well = 0;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    well += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  return well;
}

int run(const Place& place, const SharedWork& work, const Launch& launch, const Item& item) {
  alarm(60);
  const int well = wait_for(start(place, work, launch, item));
  alarm(0);
  return well;
}

std::optional<std::string> square(int /*rank*/, std::size_t item) {
  pause(0.002);
  return row_text(item);
}

void die() { kill(getpid(), SIGKILL); }

const Rank alone{};

SharedResult run_alone(const SharedWork& work, std::vector<std::size_t>& did) {
  return share_work(
      alone, work,
      [&](std::size_t item) {
        did.push_back(item);
        return std::optional(row_text(item));
      },
      {}, quick);
}

}  // namespace

TEST_CASE("processes share items, each done once, and one file comes out") {
  for (const std::size_t items : {0U, 1U, 3U, 23U}) {
    INFO(items << " items");
    const Place place;
    CHECK(run(place, place.work(items), {}, square) == 4);
    CHECK(content_of(place.output()) == expected(items));
    CHECK(place.files() == std::vector<std::string>{"all.profile"});
    CHECK(place.begun().size() == items);
    for (const auto& [item, count] : place.begun()) CHECK(count == 1);
    int wrote = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string log = place.logged(fmt::format("rank{}", rank));
      CHECK(log.starts_with("merged "));
      CHECK(log.ends_with("dead [] missing []\n"));
      wrote += log.find("wrote") != std::string::npos ? 1 : 0;
    }
    CHECK(wrote == 1);
  }
}

TEST_CASE("a process alone does all items") {
  const Place place;
  std::vector<std::size_t> did;
  const SharedResult result = share_work(
      alone, place.work(5),
      [&](std::size_t item) {
        did.push_back(item);
        return std::optional(row_text(item) + "\n");
      },
      {}, quick);
  CHECK(result.merged);
  CHECK(result.wrote);
  CHECK(did == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(content_of(place.output()) == expected(5));
  CHECK(place.files().size() == 1);
}

TEST_CASE("what a rank that is killed leaves is done by the others, and the rank is named") {
  for (const int victim : {0, 2}) {
    INFO("rank " << victim << " dies");
    const Place place;
    // Item 8 + victim is the third of its rank.
    const std::size_t last = 8 + static_cast<std::size_t>(victim);
    const int well = run(place, place.work(40), {}, [&](int rank, std::size_t item) {
      if (rank == victim && item == last) die();
      return square(rank, item);
    });
    CHECK(well == 3);
    CHECK(content_of(place.output()) == expected(40));
    CHECK(place.files() == std::vector<std::string>{"all.profile"});
    for (const auto& [item, count] : place.begun()) CHECK(count == (item == last ? 2 : 1));
    bool named = false;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string log = place.logged(fmt::format("rank{}", rank));
      if (log.find("wrote") != std::string::npos) named = log == fmt::format("merged wrote dead [{}] missing []\n", victim);
    }
    CHECK(named);
  }
}

TEST_CASE("the last that lives does everything") {
  const Place place;
  const int well = run(place, place.work(16), {}, [](int rank, std::size_t item) {
    if (rank != 3 && item >= 4) die();
    return square(rank, item);
  });
  CHECK(well == 1);
  CHECK(content_of(place.output()) == expected(16));
  CHECK(place.logged("rank3") == "merged wrote dead [0 1 2] missing []\n");
}

TEST_CASE("a rank that never starts counts as dead after a while") {
  const Place place;
  CHECK(run(place, place.work(12), {.started = {0, 2, 3}, .rule = quick}, square) == 3);
  CHECK(content_of(place.output()) == expected(12));
  CHECK(place.logged("rank0") == "merged wrote dead [1] missing []\n");
  CHECK(place.files().size() == 1);
}

TEST_CASE("a rank that comes after it was given up helps, and nothing is done twice") {
  const Place place;
  const int well = run(place, place.work(16), {.rule = quick, .late = {{1, 1.6}}}, [](int rank, std::size_t item) {
    pause(0.3);
    return square(rank, item);
  });
  CHECK(well == 4);
  CHECK(content_of(place.output()) == expected(16));
  for (const auto& [item, count] : place.begun()) CHECK(count == 1);
  CHECK(place.logged("rank1").starts_with("merged "));
}

TEST_CASE("an item that kills who does it is given up after two") {
  const Place place;
  const int well = run(place, place.work(20), {}, [](int rank, std::size_t item) {
    if (item == 6) die();
    return square(rank, item);
  });
  CHECK(well == 2);
  CHECK(content_of(place.output()) == expected(20, {6}));
  CHECK(place.begun().at(6) == 2);
  bool listed = false;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string log = place.logged(fmt::format("rank{}", rank));
    if (log.find("wrote") != std::string::npos) listed = log.ends_with("missing [6]\n");
  }
  CHECK(listed);
}

TEST_CASE("a run that is stopped keeps what it has, and is gone on with by any number of processes") {
  for (const int ranks : {1, 2, 4, 7}) {
    INFO("gone on with by " << ranks);
    const Place place;
    const int stopped =
        run(place, place.work(30),
            {.stop = [&](int rank) { return place.begun().size() >= 10 + static_cast<std::size_t>(rank); }}, square);
    CHECK(stopped == 4);
    CHECK_FALSE(fs::exists(place.output()));
    CHECK(place.files().size() == 4);
    CHECK(parts_of(place.output()).size() == 4);
    CHECK(place.logged("rank0").starts_with("dead [] missing ["));
    const std::size_t before = place.begun().size();
    CHECK(before < 30);
    SharedWork work = place.work(30);
    work.resume = true;
    CHECK(run(place, work, {.ranks = ranks, .rule = quick}, square) == ranks);
    CHECK(content_of(place.output()) == expected(30));
    CHECK(place.files().size() == 1);
    for (const auto& [item, count] : place.begun()) CHECK(count == 1);
  }
}

TEST_CASE("an item that was stopped in the middle is none that kills") {
  const Place place;
  SharedWork work = place.work(3);
  for (int i = 0; i < 4; ++i) {
    const SharedResult result = share_work(
        alone, work, [](std::size_t) { return std::optional<std::string>(); }, {}, quick);
    CHECK_FALSE(result.merged);
    CHECK(result.missing == std::vector<std::size_t>{0, 1, 2});
    work.resume = true;
  }
  std::vector<std::size_t> did;
  CHECK(run_alone(work, did).missing.empty());
  CHECK(did.size() == 3);
}

TEST_CASE("a run that was killed as a whole is gone on with") {
  const Place place;
  alarm(60);
  const std::vector<pid_t> processes = start(place, place.work(24), {}, [](int rank, std::size_t item) {
    if (item >= 8) pause(30);  // until killed
    return square(rank, item);
  });
  while (place.begun().size() < 12) pause(0.01);
  for (const pid_t process : processes) kill(process, SIGKILL);
  CHECK(wait_for(processes) == 0);
  alarm(0);
  CHECK(place.files().size() == 4);
  SharedWork work = place.work(24);
  work.resume = true;
  std::vector<std::size_t> did;
  const SharedResult result = run_alone(work, did);
  CHECK(result.merged);
  CHECK(result.missing.empty());
  CHECK(did.size() == 16);
  CHECK(content_of(place.output()) == expected(24));
  CHECK(place.files().size() == 1);
}

TEST_CASE("rows of an earlier output are kept, and only what it lacks is done") {
  const Place place;
  SharedWork work = place.work(10);
  work.known.resize(10);
  for (const std::size_t i : {0U, 1U, 4U, 9U}) work.known[i] = row_text(i) + (i == 4 ? "\n" : "");
  CHECK(run(place, work, {.ranks = 3}, square) == 3);
  CHECK(content_of(place.output()) == expected(10));
  CHECK(place.begun().size() == 6);
}

TEST_CASE("an error of an item ends its process alone") {
  const Place place;
  const int well = run(place, place.work(12), {}, [](int rank, std::size_t item) {
    if (rank == 1) throw Error("no device here");
    return square(rank, item);
  });
  CHECK(well == 3);
  CHECK(place.logged("rank1") == "error: no device here\n");
  CHECK(content_of(place.output()) == expected(12));
}

TEST_CASE("parts that are not this run's are refused") {
  const Place place;
  const auto problem_of = [&](const SharedWork& work) {
    return error_of([&] {
      std::vector<std::size_t> did;
      static_cast<void>(run_alone(work, did));
    });
  };
  const SharedWork work = place.work(3);
  static_cast<void>(share_work(
      alone, work, [](std::size_t) { return std::optional<std::string>(); }, {}, quick));
  REQUIRE(fs::exists(place.part(0)));
  CHECK(problem_of(work) ==
        fmt::format("'{}' is left of an earlier run\nhint: --resume goes on with it; to start anew, remove {}.rank*",
                    place.part(0), place.output()));
  SharedWork other = work;
  other.resume = true;
  other.identity = "cubes";
  const std::string foreign = fmt::format(
      "'{}' is a part of another run\nhint: remove {}.rank*, or give --output another name", place.part(0), place.output());
  CHECK(problem_of(other) == foreign);
  other = place.work(4);
  other.resume = true;
  CHECK(problem_of(other) == foreign);
  for (const char* garbage : {"", "a profile\n", "ddl-oracle-part-1 share=0 shares=1 items=3 identity=xyz\n",
                              "ddl-oracle-part-1 share=1 shares=1 items=3 identity=0\n"}) {
    INFO(garbage);
    std::ofstream(place.part(0), std::ios::trunc) << garbage;
    CHECK(problem_of(work) ==
          fmt::format("'{}' is no part of a shared run\nhint: remove it, or give --output another name", place.part(0)));
  }
  CHECK_FALSE(fs::exists(place.output()));
}

TEST_CASE("a second run into the same output is refused") {
  const Place place;
  const std::optional<PartFile> other = PartFile::create(place.part(0), {0, 1, 3, 0});
  REQUIRE(other);
  std::vector<std::size_t> did;
  CHECK(error_of([&] { static_cast<void>(run_alone(place.work(3), did)); }).find("is a part of another run") !=
        std::string::npos);
  // The same work, too.
  fs::remove(place.part(0));
  alarm(60);
  const std::vector<pid_t> first = start(place, place.work(3), {.ranks = 1}, [](int rank, std::size_t item) {
    pause(30);
    return square(rank, item);
  });
  while (place.begun().empty()) pause(0.01);
  CHECK(error_of([&] { static_cast<void>(run_alone(place.work(3), did)); }) ==
        fmt::format("another run writes '{}'\nhint: let it end, or give --output another name", place.output()));
  kill(first.front(), SIGKILL);
  wait_for(first);
  alarm(0);
  CHECK(did.empty());
}

TEST_CASE("a row that was being written when its process died is done again") {
  const Place place;
  const SharedWork work = place.work(3);
  std::vector<std::size_t> did;
  static_cast<void>(share_work(
      alone, work, [&](std::size_t item) { return item == 0 ? std::optional(row_text(item)) : std::nullopt; }, {}, quick));
  std::ofstream(place.part(0), std::ios::app) << "row 1 1,";
  SharedWork again = work;
  again.resume = true;
  CHECK(run_alone(again, did).merged);
  CHECK(did == std::vector<std::size_t>{1, 2});
  CHECK(content_of(place.output()) == expected(3));
}

TEST_CASE("parts whose rows are in the output already are removed") {
  const Place place;
  const SharedWork work = place.work(2);
  static_cast<void>(share_work(
      alone, work, [](std::size_t) { return std::optional<std::string>(); }, {}, quick));
  // As where a process died between writing the output and removing its parts.
  std::ofstream(place.part(0), std::ios::app) << "merged\n";
  std::ofstream(place.part(1)) << "whatever";
  std::vector<std::size_t> did;
  CHECK(run_alone(work, did).wrote);
  CHECK(did.size() == 2);
  CHECK(place.files().size() == 1);
}

TEST_CASE("a row of several lines is refused") {
  const Place place;
  CHECK(error_of([&] {
          static_cast<void>(share_work(
              alone, place.work(1), [](std::size_t) { return std::optional<std::string>("a\nb"); }, {}, quick));
        }) == "a row is one line");
}
