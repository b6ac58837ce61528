# ddl_warnings: compiler warnings. Every target of the project links ddl_warnings privately, so that third-party sources are
# compiled without these warnings. Warnings are errors only on request, because a release must still build with future compilers.

add_library(ddl_warnings INTERFACE)
target_compile_options(ddl_warnings INTERFACE
  -Wall
  -Wextra
  -Wpedantic
  -Wconversion
  -Wsign-conversion
  -Wold-style-cast
  -Wnon-virtual-dtor)

# If sources are compiled together, a local variable in one source may have the name of a function in another source. Only the
# preset dev, which compiles each source alone, can tell whether a name is really hidden.
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(ddl_warnings INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ddl_warnings INTERFACE -Wshadow=local)
endif()

# Some warnings are false alarms in inlined library code. GCC 12 reports overlapping copies in `"text" + std::string` (GCC bug 105651). GCC
# also reports initialized variables as uninitialized, more often with sanitizers or -O1; clang-tidy and the sanitizers find
# real cases.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ddl_warnings INTERFACE
    -Wno-maybe-uninitialized
    $<$<VERSION_LESS:${CMAKE_CXX_COMPILER_VERSION},13>:-Wno-restrict>)
endif()

# With Clang, std::stable_sort of libstdc++ 12 calls a function that C++17 deprecates (fixed in libstdc++ 13). GCC still
# reports deprecated calls of our own code.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(ddl_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(DDL_WARNINGS_AS_ERRORS)
  target_compile_options(ddl_warnings INTERFACE -Werror)
endif()
