#include "profiler/profiles/profile_file.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

Profile example() {
  Profile profile;
  profile.head = {.model = "tiny \"net\"",
                  .backend = "simulated",
                  .device = "a device: with, everything # in its name",
                  .caches = "step",
                  .date = "2026-11-21T20:26:49Z",
                  .host = "node1",
                  .command = "ddl-oracle profile tiny",
                  .details = {{"library", "none 1.2"}, {"clock: now", "1 GHz"}}};
  Measurement settled{.problem = "add in=3x4x4,3x4x4 samples=2 precision=fp32 pass=forward",
                      .samples = summarize({1.25e-6, 1.5e-6, 1.4e-6, 1.1e-6, 1.3e-6, 1.2e-6}, {}),
                      .workspace = Bytes(4096),
                      .algorithm = "loop, plain"};
  Measurement refused{.problem = "update optimizer=sgd parameters=10 precision=fp16", .reason = "has no \"fp16\",\nhere"};
  settled.host_bound = true;
  profile.rows = {{settled, 3, Seconds(2e-4), {1.41e9, 699.5, "power cap, sync boost"}}, {refused, 0}};
  return profile;
}

const std::string head = "format: 1\nbackend: simulated\ndevice: d\n---\n";
const std::string columns =
    "problem,layers,samples,median_s,deviation_s,low_s,high_s,settled,drifted,look_s,workspace_bytes,algorithm,reason,"
    "samples_s\n";
const std::string relu = "activation kind=relu in=10 samples=1 precision=fp32 pass=forward";

}  // namespace

TEST_CASE("reading a written profile returns the same profile") {
  const Profile profile = example();
  const std::string text = print_profile(profile);
  const Profile back = parse_profile(text, "p");
  CHECK(back.head.model == profile.head.model);
  CHECK(back.head.device == profile.head.device);
  CHECK(back.head.details == profile.head.details);
  REQUIRE(back.rows.size() == 2);
  CHECK(back.rows[0].layers == 3);
  const Samples& samples = back.rows[0].measurement.samples;
  CHECK(samples.seconds == profile.rows[0].measurement.samples.seconds);
  CHECK(samples.median == profile.rows[0].measurement.samples.median);
  CHECK(samples.high == profile.rows[0].measurement.samples.high);
  CHECK(back.rows[0].measurement.workspace == Bytes(4096));
  CHECK(back.rows[0].measurement.algorithm == "loop, plain");
  CHECK(back.rows[0].state.clock_hz == 1.41e9);
  CHECK(back.rows[0].state.power_w == 699.5);
  CHECK(back.rows[0].state.slowed_by == "power cap, sync boost");
  CHECK(back.rows[0].measurement.host_bound);
  CHECK_FALSE(back.rows[1].measurement.host_bound);
  CHECK(back.rows[1].measurement.reason == "has no \"fp16\", here");
  CHECK(print_profile(back) == print_profile(parse_profile(print_profile(back), "p")));
  const std::string again = print_profile(back);
  CHECK(again.substr(0, again.find("has no")) == text.substr(0, text.find("has no")));
}

TEST_CASE("the layout of images is in the head, or in the details of older files") {
  const auto layout_of = [](const std::string& line) {
    return parse_profile("format: 1\nbackend: cuda\ndevice: d\n" + line + "---\n" + columns, "p").head;
  };
  CHECK(layout_of("").layout.empty());
  CHECK(layout_of("layout: channels-first\n").layout == "channels-first");
  const ProfileHead older = layout_of("details:\n  layout: channels-last\n  cuDNN: 9.1.0\n");
  CHECK(older.layout == "channels-last");
  CHECK(older.details == std::vector<std::pair<std::string, std::string>>{{"cuDNN", "9.1.0"}});
  CHECK(print_profile_head(older).find("layout: \"channels-last\"\n") != std::string::npos);
  CHECK_THAT(
      error_of([&] { static_cast<void>(layout_of("layout: NHWC\n")); }),
      ContainsSubstring("p:4:9: 'NHWC' is not a layout of images") && ContainsSubstring("channels-last or channels-first"));
}

TEST_CASE("an incomplete last line is not read") {
  const std::string text = print_profile(example());
  // A file that is cut anywhere after the first row has at least that row. No row is read in part.
  const std::size_t first = text.find('\n', text.find("add in=")) + 1;
  for (std::size_t end = first; end < text.size(); ++end) {
    REQUIRE(parse_profile(text.substr(0, end), "p").rows.size() == 1);
  }
  CHECK(whole_lines("a\nb") == "a\n");
  CHECK(whole_lines("a").empty());
}

TEST_CASE("a time below every clock's resolution is read as zero") {
  const Profile tiny = parse_profile(head + columns + relu + ",1,1,1e-300,0,5e-324,2,no,no,1e-20,0,loop,,1e-300\n", "p");
  const Samples& samples = tiny.rows.front().measurement.samples;
  CHECK(samples.median.value() == 0);
  CHECK(samples.seconds == std::vector<double>{0});
  CHECK(tiny.rows.front().reference_kernel.value() == 0);
}

TEST_CASE("if a problem has several rows, the last row is used") {
  const Profile twice = parse_profile(
      head + columns + relu + ",1,1,2,0,2,2,no,no,0,0,loop,,2\n" + relu + ",1,1,3,0,3,3,no,no,0,0,loop,,3\n", "p");
  REQUIRE(twice.rows.size() == 1);
  CHECK(twice.rows.front().measurement.samples.median.value() == 3);
}

// The text has one character of a single byte, and then 10,000 bytes of the letter é, which has two
// bytes. It is cut to 9,999 bytes.
TEST_CASE("a long text is cut between characters") {
  Profile profile = example();
  std::string& algorithm = profile.rows.front().measurement.algorithm;
  algorithm = "x";
  for (int i = 0; i < 5000; ++i) algorithm += "é";
  CHECK(parse_profile(print_profile(profile), "p").rows.front().measurement.algorithm.size() == 9999);
}

TEST_CASE("a problem is recognized in any order of its attributes") {
  const Profile other =
      parse_profile(head + columns + "activation samples=1 in=10 kind=relu,1,1,2,0,2,2,no,no,0,0,loop,,2\n", "p");
  CHECK(other.rows.front().measurement.problem == relu);
}

TEST_CASE("errors in a profile state their position") {
  const auto error = [](const std::string& text) { return error_of([&] { static_cast<void>(parse_profile(text, "p")); }); };
  CHECK_THAT(error(""), ContainsSubstring("p:1:1: a profile needs a line '---'"));
  CHECK_THAT(error("format: 1\nbackend: b\ndevice: d\n"), ContainsSubstring("a profile needs a line '---'"));
  CHECK_THAT(error("format: 2\nbackend: b\ndevice: d\n---\n" + columns), ContainsSubstring("p:1:9"));
  CHECK_THAT(error("format: 1\nbackend: b\ndevice: d\ndevise: d\n---\n" + columns), ContainsSubstring("p:4:1"));
  CHECK_THAT(error("format: 1\nbackend: b\ndevice: d\ncaches: hot\n---\n" + columns), ContainsSubstring("p:4:9"));
  CHECK_THAT(error(head + "problem,layers\n"), ContainsSubstring("settled") || ContainsSubstring("samples"));
  CHECK_THAT(error(head + columns + relu + ",1,1,-2,0,2,2,no,no,0,0,loop,,2\n"),
             ContainsSubstring("p:6:") && ContainsSubstring("negative"));
  CHECK_THAT(error(head + columns + relu + ",1,1,nan,0,2,2,no,no,0,0,loop,,2\n"), ContainsSubstring("p:6:"));
  CHECK_THAT(error(head + columns + relu + ",1,1,1e16,0,0,1e16,no,no,0,0,loop,,2\n"),
             ContainsSubstring("p:6:") && ContainsSubstring("'1e16' is not a time"));
  CHECK_THAT(error(head + columns + relu + ",1,1,2,0,2,2,no,no,0,0,loop,,1e308\n"),
             ContainsSubstring("'1e308' is not a time"));
  CHECK_THAT(error(head + columns + relu + ",1,1,2,0,2,2,no,no,0,1e300,loop,,2\n"),
             ContainsSubstring("'1e300' is too large"));
  CHECK_THAT(error(head + columns + relu + ",1,1,2,0,3,4,no,no,0,0,loop,,2\n"),
             ContainsSubstring("does not contain the median"));
  CHECK_THAT(error(head + columns + relu + ",1,2,2,0,2,2,no,no,0,0,loop,,2\n"), ContainsSubstring("2 samples, but 1 times"));
  CHECK_THAT(error(head + columns + relu + ",1,1,2,0,2,2,maybe,no,0,0,loop,,2\n"), ContainsSubstring("yes or no"));
  CHECK_THAT(error(head + columns + relu + ",1,1,2,0,2,2,no,no,0,0,loop,,2 x\n"), ContainsSubstring("'x' is not a time"));
  CHECK_THAT(error(head + columns + "activation kind=rleu in=10,1,1,2,0,2,2,no,no,0,0,loop,,2\n"),
             ContainsSubstring("p:6:1") && ContainsSubstring("rleu"));
}

TEST_CASE("a shard states its number, and its rows state their positions") {
  Profile profile = example();
  profile.head.shard = ProfileShard{3, 16, 2, "5f2a91c3e0b71d44"};
  profile.rows[0].place = 5;
  profile.rows[1].place = 70;
  const std::string text = print_profile(profile);
  CHECK_THAT(text, ContainsSubstring("shard:\n  index: 3\n  count: 16\n  problems: 2\n  plan: \"5f2a91c3e0b71d44\"\n"));
  const Profile back = parse_profile(text, "p");
  CHECK(back.head.shard == profile.head.shard);
  CHECK(back.rows[1].place == 70);
  CHECK(print_profile(back) == text);

  const std::string shard =
      "format: 1\nbackend: simulated\ndevice: d\nshard: {index: 1, count: 2, problems: 1, plan: a}\n---\n";
  CHECK_THAT(error_of([&] { static_cast<void>(parse_profile(shard + columns, "p")); }), ContainsSubstring("place"));
  const std::string beyond =
      "format: 1\nbackend: simulated\ndevice: d\nshard: {index: 2, count: 2, problems: 1, plan: a}\n---\n";
  CHECK_THAT(error_of([&] { static_cast<void>(parse_profile(beyond + columns, "p")); }), ContainsSubstring("p:4:16: "));
  const std::string not_one = columns.substr(0, columns.size() - 1) + ",place\n";
  CHECK_THAT(error_of([&] { static_cast<void>(parse_profile(head + not_one, "p")); }), ContainsSubstring("place"));
}

TEST_CASE("an incomplete last line is reported") {
  const std::string row = relu + ",1,0,0,0,0,0,yes,no,0,0,,,\n";
  CHECK(parse_profile(head + columns + row, "p").cut_line == 0);
  const Profile cut = parse_profile(head + columns + row + "activation kind=si", "p");
  CHECK(cut.cut_line == 7);
  CHECK(cut.rows.size() == 1);
}
