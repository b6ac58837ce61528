#include "core/source_text.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "core/input_files.hpp"
#include "core/write_file.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;
namespace fs = std::filesystem;

namespace {

/// An empty folder that is removed at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "ddl-source-text-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::ptrdiff_t count() const { return std::distance(fs::directory_iterator(path_), {}); }

 private:
  fs::path path_;
};

std::string bad_text(const std::string& text) {
  return error_of([&] { const SourceText source(text, "f"); });
}

}  // namespace

TEST_CASE("a placed message has the place, the line, and a caret under the column") {
  CHECK(placed_message("job.yaml", 3, 7, "no unit", "speed: 900") ==
        "job.yaml:3:7: no unit\n"
        "  speed: 900\n"
        "        ^");
}

TEST_CASE("the caret may be after the end of the line but not before its start") {
  CHECK(placed_message("f", 1, 3, "m", "ab") == "f:1:3: m\n  ab\n    ^");
  CHECK(placed_message("f", 1, 99, "m", "ab") == "f:1:99: m\n  ab\n    ^");
  CHECK(placed_message("f", 1, 0, "m", "ab") == "f:1:0: m\n  ab\n  ^");
}

TEST_CASE("a blank line is not printed") {
  CHECK(placed_message("f", 1, 1, "m", "") == "f:1:1: m");
  CHECK(placed_message("f", 1, 1, "m", " \t ") == "f:1:1: m");
}

TEST_CASE("tabs and characters of several bytes do not shift the caret") {
  CHECK(placed_message("f", 1, 2, "m", "\tx") == "f:1:2: m\n      x\n      ^");
  // The bytes are: a, u with two dots (2 bytes), the sign for infinity (3 bytes). x is the 7th byte and the 4th column.
  CHECK(placed_message("f", 1, 7, "m", "a\u00FC\u221Ex") == "f:1:7: m\n  a\u00FC\u221Ex\n     ^");
}

TEST_CASE("control characters and invalid bytes are shown as question marks") {
  CHECK(placed_message("f\n", 1, 6, "m\x1B[31m",
                       "a\x1B\xFF\xC2\x9B"
                       "b") == "f?:1:6: m?[31m\n  a???b\n      ^");
}

TEST_CASE("a long line is cut around the caret") {
  const std::string line = std::string(500, 'a') + "X" + std::string(500, 'b');
  const std::string message = placed_message("f", 1, 501, "m", line);
  const std::size_t line_start = message.find('\n') + 1;
  const std::size_t caret_start = message.find('\n', line_start) + 1;
  const std::string shown = message.substr(line_start, caret_start - line_start - 1);
  CHECK(shown.size() <= 120);
  CHECK(shown.starts_with("  ...aaaa"));
  CHECK(shown.ends_with("bbbb..."));
  CHECK(shown[message.find('^') - caret_start] == 'X');
}

TEST_CASE("a long line is cut on one side when the caret is near the other") {
  const std::string line(1000, 'a');
  CHECK(placed_message("f", 1, 1, "m", line) == "f:1:1: m\n  " + std::string(110, 'a') + "...\n  ^");
  CHECK(placed_message("f", 1, 1001, "m", line) ==
        "f:1:1001: m\n  ..." + std::string(110, 'a') + "\n  " + std::string(113, ' ') + "^");
}

TEST_CASE("a huge line of wide characters is cut between characters") {
  std::string line;
  for (int i = 0; i < 100000; ++i) line += "\u221E";
  const std::string message = placed_message("f", 1, 150001, "m", line);
  CHECK(message.size() < 1000);
  CHECK(message.find('?') == std::string::npos);
}

TEST_CASE("quoted text is one short line") {
  CHECK(quote("900") == "'900'");
  CHECK(quote("") == "''");
  CHECK(quote("a\nb\x1B") == "'a?b?'");
  CHECK(quote(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(quote(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
}

TEST_CASE("the name of a file is quoted completely, up to the length limit of file systems") {
  CHECK(quote_path("net.yaml") == "'net.yaml'");
  CHECK(quote_path("a\nb") == "'a?b'");
  CHECK(quote_path(std::string(255, 'x')) == "'" + std::string(255, 'x') + "'");
  CHECK(quote_path(std::string(256, 'x')) == "'" + std::string(255, 'x') + "...'");
}

TEST_CASE("offsets become lines and columns") {
  const SourceText source("ab\ncd\r\n\ne", "f");
  const auto at = [&](std::size_t offset) { return std::pair(source.place(offset).line, source.place(offset).column); };
  CHECK(at(0) == std::pair(1, 1));
  CHECK(at(2) == std::pair(1, 3));
  CHECK(at(3) == std::pair(2, 1));
  CHECK(at(7) == std::pair(3, 1));
  CHECK(at(8) == std::pair(4, 1));
  CHECK(at(9) == std::pair(4, 2));
  CHECK(at(1000) == std::pair(4, 2));
  CHECK(std::string(source.error(4, "m").what()) == "f:2:2: m\n  cd\n   ^");
}

TEST_CASE("a byte-order mark is not a part of the text") {
  const SourceText source("\xEF\xBB\xBFx", "f");
  CHECK(source.text() == "x");
  CHECK(source.place(0).column == 1);
}

TEST_CASE("UTF-8, tabs and both line breaks are text") {
  CHECK(bad_text("a\tb\r\n\u00E9\u221E\U0001F600\n") == "no error");
  CHECK(bad_text("") == "no error");
}

TEST_CASE("invalid text is refused at its first bad byte") {
  CHECK(bad_text(std::string("ab\nc\0d", 6)) ==
        "f:2:2: not a text file: byte 0x00 does not occur in UTF-8 text\n  c?d\n   ^\nhint: save the file as UTF-8 text");
  CHECK(bad_text("a\x04").starts_with("f:1:2: not a text file: byte 0x04"));
  CHECK(bad_text("a\x7F").starts_with("f:1:2: not a text file: byte 0x7F"));
  CHECK(bad_text("a\rb").starts_with("f:1:2: not a text file: byte 0x0D"));
  CHECK(bad_text("a\r").starts_with("f:1:2: not a text file: byte 0x0D"));
  CHECK(bad_text("caf\xE9 x").starts_with("f:1:4: not a text file: byte 0xE9"));
}

TEST_CASE("malformed UTF-8 is refused") {
  const std::string bad = GENERATE("\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xE2\x88", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                   "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x28\xA1");
  CHECK(bad_text("a" + bad).starts_with("f:1:2: not a text file"));
}

TEST_CASE("well-formed UTF-8 at the limits of each length is accepted") {
  CHECK(
      bad_text("\xC2\xA0 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF") ==
      "no error");
}

TEST_CASE("a file is read byte for byte") {
  const Folder folder;
  const std::string content = "a\r\n" + std::string(1, '\0') + "\xFF" + std::string(200000, 'x');
  std::ofstream(folder.file("in"), std::ios::binary) << content;
  CHECK(read_file(folder.file("in")) == content);
}

TEST_CASE("a file that cannot be read is named together with the reason") {
  const Folder folder;
  const std::string missing = folder.file("missing");
  CHECK(error_of([&] { (void)read_file(missing); }) == "cannot read '" + missing.substr(0, 60) +
                                                           (missing.size() > 60 ? "..." : "") +
                                                           "': No such file or directory\nhint: check the spelling; a path "
                                                           "is relative to the current folder, or starts with /");
  CHECK(error_of([&] { (void)read_file(folder.file("")); }).ends_with(": Is a directory\nhint: name a file in this folder"));
}

TEST_CASE("a file above the length limit is refused, one at the limit is not") {
  const Folder folder;
  std::ofstream(folder.file("in")) << std::string(4096, 'x');
  CHECK(read_file(folder.file("in"), 4096).size() == 4096);
  CHECK(error_of([&] { (void)read_file(folder.file("in"), 4095); }).find("the file is longer than") != std::string::npos);
  CHECK(
      error_of([&] { (void)read_file("/dev/zero", std::size_t{1} << 20U); }) ==
      "cannot read '/dev/zero': the file is longer than 1 MiB\nhint: check the name of the file, or use a part of the file");
}

TEST_CASE("a file that was read is known by any name") {
  const Folder folder;
  write_file(folder.file("in"), "a");
  write_file(folder.file("other"), "b");
  CHECK_FALSE(is_input_file(folder.file("in")));
  (void)read_file(folder.file("in"));
  fs::create_symlink(folder.file("in"), folder.file("link"));
  fs::create_hard_link(folder.file("in"), folder.file("hard"));
  for (const char* name : {"in", "./in", "link", "hard"}) CHECK(is_input_file(folder.file(name)));
  for (const char* name : {"other", "none"}) CHECK_FALSE(is_input_file(folder.file(name)));
}

TEST_CASE("a written file reads back, and nothing else is left in the folder") {
  const Folder folder;
  const std::string content = std::string("a\0b\n", 4) + std::string(300000, 'x');
  write_file(folder.file("out"), content);
  CHECK(read_file(folder.file("out")) == content);
  write_file(folder.file("out"), "");
  CHECK(read_file(folder.file("out")).empty());
  CHECK(folder.count() == 1);
}

TEST_CASE("rewriting keeps the permissions of a file") {
  const Folder folder;
  write_file(folder.file("out"), "1");
  fs::permissions(folder.file("out"), fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder.file("out"), "2");
  CHECK(fs::status(folder.file("out")).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("writing through a link changes the file and keeps the link") {
  const Folder folder;
  write_file(folder.file("out"), "1");
  fs::create_symlink("out", folder.file("link"));
  write_file(folder.file("link"), "2");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("out")) == "2");
}

TEST_CASE("files left by a killed process of another container do not block the next process") {
  // In a container, the program is always process 1. After a first kill, names that are based on process ids already exist.
  const Folder folder;
  constexpr int others = 2000;
  for (int i = 0; i < others; ++i)
    std::ofstream(folder.file(".ddl-oracle-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp"));
  CHECK(write_file(folder.file("out"), "1") == Written::replaced);
  CHECK(read_file(folder.file("out")) == "1");
  CHECK(folder.count() == others + 1);
}

TEST_CASE("writing through a dangling link creates its target") {
  const Folder folder;
  fs::create_symlink("out", folder.file("link"));
  write_file(folder.file("link"), "2");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("out")) == "2");
  fs::create_symlink("loop", folder.file("loop"));
  CHECK(error_of([&] { write_file(folder.file("loop"), "x"); }).ends_with(": Too many levels of symbolic links"));
  CHECK(fs::is_symlink(folder.file("loop")));
}

TEST_CASE("terminal control characters are shown as escapes") {
  CHECK(visible("plain \u00B5\u03B1 text") == "plain \u00B5\u03B1 text");
  CHECK(visible("\x1B[31m") == "\\x1B[31m");
  CHECK(visible("a\nb\tc") == "a\\nb\\tc");
  CHECK(visible_lines("a\nb\tc\r") == "a\nb\tc\\x0D");
  CHECK(visible("\u009B31m") == "\\u009B31m");
  CHECK(visible("a\u202Eb\u2066c\u200Fd\u061Ce") == "a\\u202Eb\\u2066c\\u200Fd\\u061Ce");
  CHECK(visible("\xFF\x80") == "\\xFF\\x80");
  CHECK(find_unprintable("two\nlines\t\u2192").has_value() == false);
  CHECK(find_unprintable("a\u202E") == "\u202E");
  CHECK(quote("a\u202Eb") == "'a?b'");
}

TEST_CASE("a file that is not regular is written to, not replaced") {
  write_file("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
  const Folder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] { received = read_file(folder.file("pipe")); });
  write_file(folder.file("pipe"), "through");
  reader.join();
  CHECK(received == "through");
}

TEST_CASE("writing to a pipe without a reader is an error") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(error_of([&] { write_file(folder.file("pipe"), "x"); }).ends_with("pipe': no process reads from this pipe"));
}

TEST_CASE("a file that cannot be written is named together with the reason") {
  const Folder folder;
  CHECK(error_of([&] {
          write_file(folder.file(""), "x");
        }).ends_with(": Is a directory\nhint: add the name of a file to the name of the folder"));
  CHECK(error_of([&] { write_file("no/such/folder/out", "x"); }) ==
        "cannot write 'no/such/folder/out': No such file or directory\nhint: create the folder first");
  CHECK(error_of([&] { write_file("", "x"); }) != "no error");
  CHECK(error_of([&] { write_file("/dev/full", "x"); }) ==
        "cannot write '/dev/full': No space left on device\nhint: free space, or write to another disk");
}
