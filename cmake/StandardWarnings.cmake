# ddl_warnings: linked privately by every target of the project, so that no third-party source is compiled with them.
# Errors only where a developer asks for it: a release must still build with a compiler of the future.

add_library(ddl_warnings INTERFACE)
target_compile_options(ddl_warnings INTERFACE
  -Wall
  -Wextra
  -Wpedantic
  -Wconversion
  -Wsign-conversion
  -Wold-style-cast
  -Wnon-virtual-dtor)

# Of sources that are compiled together, one's local may have the name of another's function: only the preset dev, which compiles each
# alone, can tell whether it hides anything.
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(ddl_warnings INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ddl_warnings INTERFACE -Wshadow=local)
endif()

# False alarms in the inlined code of libraries. GCC 12 sees overlapping copies in `"text" + std::string` (GCC bug 105651);
# GCC loses sight of what is initialized, the more so with sanitizers or -O1, which clang-tidy and the sanitizers do see.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ddl_warnings INTERFACE
    -Wno-maybe-uninitialized
    $<$<VERSION_LESS:${CMAKE_CXX_COMPILER_VERSION},13>:-Wno-restrict>)
endif()

# Clang sees std::stable_sort of libstdc++ 12 call what C++17 deprecates (fixed in 13); our own calls are GCC's to report.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(ddl_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(DDL_WARNINGS_AS_ERRORS)
  target_compile_options(ddl_warnings INTERFACE -Werror)
endif()
