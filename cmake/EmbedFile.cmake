# Writes the C++ source of ddl_embed: cmake -DFUNCTION= -DFOLDER= -DSHOWN_FOLDER= -DFILES= -DOUTPUT= -P EmbedFile.cmake
# Every byte becomes one hexadecimal escape of a string literal. Escaped content cannot be mistaken for C++, and a literal
# compiles several times faster than a list of numbers (a megabyte in a quarter of a second).
cmake_minimum_required(VERSION 3.25)

# Sorted by stem, not by file name: 'a' comes before 'a-b', but 'a-b.yaml' before 'a.yaml'.
set(stems "")
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM LAST_ONLY stem)
  list(APPEND stems "${stem}")
  set("file_of_${stem}" "${file}")
endforeach()
list(SORT stems COMPARE STRING)
list(LENGTH stems count)

file(WRITE "${OUTPUT}" "// Generated from ${SHOWN_FOLDER}; do not edit. NOLINTBEGIN
#include <array>

#include \"core/embedded.hpp\"

namespace ddl {

std::span<const EmbeddedFile> ${FUNCTION}();

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr std::array<EmbeddedFile, ${count}> files{{\n")
foreach(stem IN LISTS stems)
  set(file "${file_of_${stem}}")
  file(SIZE "${FOLDER}/${file}" size)
  file(READ "${FOLDER}/${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................................)"
    "\\1\"\n     \"" bytes "${bytes}")
  file(APPEND "${OUTPUT}" "    {\"${stem}\", \"${SHOWN_FOLDER}/${file}\",\n     {\"${bytes}\",\n      ${size}}},\n")
endforeach()
file(APPEND "${OUTPUT}" "  }};
  return files;
}

}  // namespace ddl
// NOLINTEND\n")
