# Says at the end of the configuration what will be built, how, and from what.

set(libraries "")
foreach(package IN ITEMS CLI11 yaml-cpp Eigen3 fmt nlohmann_json Catch2 benchmark)
  if(DEFINED ${package}_VERSION)
    list(APPEND libraries "${package} ${${package}_VERSION}")
  endif()
endforeach()
list(JOIN libraries ", " libraries)

set(sanitizers "${DDL_SANITIZE}")
if(NOT sanitizers)
  set(sanitizers none)
endif()

message(STATUS "ddl-oracle ${PROJECT_VERSION}")
message(STATUS "  compiler      ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  warnings      are errors: ${DDL_WARNINGS_AS_ERRORS}")
message(STATUS "  sanitizers    ${sanitizers}")
message(STATUS "  tests         ${BUILD_TESTING}")
message(STATUS "  benchmarks    ${DDL_BUILD_BENCHMARKS}")
message(STATUS "  fuzzers       ${DDL_BUILD_FUZZERS}")
message(STATUS "  libraries     ${libraries}")
message(STATUS "  installs to   ${CMAKE_INSTALL_PREFIX}")
