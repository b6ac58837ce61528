#include "core/file_stream.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_descriptor.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

TEST_CASE("reading an open pipe that sends nothing ends after a time limit") {
  std::string folder = (std::filesystem::temp_directory_path() / "ddl-pipe-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const FileDescriptor writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(writer.is_open());
  std::array<char, 8> bytes{};
  {
    FileStream stream(path, 100, 0.01);
    CHECK(error_of([&] { static_cast<void>(stream.read(bytes)); }) ==
          "cannot read '" + path + "': nothing has been written to it for 0.01 s");
  }
  // Data that arrives in time is read, and the timeout then starts again.
  REQUIRE(::write(writer.number(), "abc", 3) == 3);
  FileStream stream(path, 100, 0.01);
  CHECK(stream.read(bytes) == 3);
  CHECK(error_of([&] { static_cast<void>(stream.read(bytes)); }) != "no error");
  std::filesystem::remove_all(folder);
}
