# Functions for the tests' CMakeLists: ddl_test_program, ddl_add_test, ddl_add_missing_test, ddl_add_fuzzer, ddl_add_benchmark.

# ddl_test_program(<program> SOURCES <file>... LIBRARIES <target>... [DEFINITIONS <definition>...])
# Adds sources to a Catch2 program. Sources may be compiled together, so that each header is read once.
function(ddl_test_program program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;DEFINITIONS")
  if(NOT TARGET ${program})
    add_executable(${program})
    target_link_libraries(${program} PRIVATE ddl_test_main ddl_settings ddl_quick_to_compile ddl_warnings)
  endif()
  target_sources(${program} PRIVATE ${arg_SOURCES})
  target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
  target_compile_definitions(${program} PRIVATE ${arg_DEFINITIONS})
endfunction()

# ddl_add_test(<name> SOURCES <file>... LIBRARIES <target>... [DEFINITIONS <definition>...] [PROGRAM <target>]
#              [TIMEOUT <seconds>] [SLOW] [THREADS])
# Adds a CTest test that runs the test cases of the sources. The test cases are part of PROGRAM, by default the program of the
# folder, so that a module's tests are compiled and linked once. The label of the test is its top folder (unit, property).
# SLOW: the test takes seconds and has the label `slow`; `./dev test --quick` leaves slow tests out. THREADS: the test starts
# threads and has the label `threads`; `./dev tsan` builds `tests_with_threads` and runs these tests. CTest reports the test as
# skipped if all its test cases report that they cannot run (tests/skip.hpp). A case that can be skipped has its own file and
# test, so that the skip is visible.
function(ddl_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SLOW;THREADS" "TIMEOUT;PROGRAM" "SOURCES;LIBRARIES;DEFINITIONS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE folder)
  if(NOT arg_PROGRAM)
    string(REPLACE "/" "_" arg_PROGRAM "${folder}_tests")
  endif()
  ddl_test_program(${arg_PROGRAM} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} DEFINITIONS ${arg_DEFINITIONS})
  # Catch2 tags each test case with its file. CTest does not run hidden test cases.
  set(tags "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM LAST_ONLY stem)
    if(stem MATCHES "_test$")
      list(APPEND tags "[#${stem}]~[.]")
    endif()
  endforeach()
  list(JOIN tags "," tags)
  add_test(NAME ${name} COMMAND ${arg_PROGRAM} --filenames-as-tags --warn NoTests "${tags}")
  string(REGEX REPLACE "/.*" "" labels "${folder}")
  if(arg_SLOW)
    list(APPEND labels slow)
  endif()
  if(arg_THREADS)
    list(APPEND labels threads)
    if(NOT TARGET tests_with_threads)
      add_custom_target(tests_with_threads)
    endif()
    add_dependencies(tests_with_threads ${arg_PROGRAM})
  endif()
  # Tests must not read the user's own measurements on this machine.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${labels}" SKIP_RETURN_CODE 77
    ENVIRONMENT "DDL_ORACLE_DATA=${PROJECT_BINARY_DIR}/no-data")
endfunction()

# ddl_add_missing_test(<name> LABEL <label> NEEDS <what is missing>): adds a test that CTest reports as skipped, with the reason.
function(ddl_add_missing_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;NEEDS" "")
  add_test(NAME ${name} COMMAND sh -c "echo \"not run, it needs $1\"; exit 77" sh "${arg_NEEDS}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 60 LABELS "${arg_LABEL}" SKIP_RETURN_CODE 77)
endfunction()

# ddl_add_fuzzer(<name> SOURCES <file>... LIBRARIES <target>... [LANGUAGE <language>] [SEEDS <folder>...]), in tests/fuzz
# The sources define LLVMFuzzerTestOneInput. With DDL_BUILD_FUZZERS, <name> is a libFuzzer program, which `./dev fuzz` runs.
# With a LANGUAGE of tests/fuzz/structure, the fuzzer changes the structure of inputs, and not only their bytes. The test
# fuzz.<name> replays the inputs in corpus/<name> and SEEDS: examples, and inputs that once caused an error. The test fuzz.<name>.found
# replays the inputs in found/<name>.tar.xz, which `./dev fuzz --keep` wrote.
function(ddl_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LANGUAGE" "SOURCES;LIBRARIES;SEEDS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} ddl_settings ddl_warnings)
  if(DDL_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_compile_definitions(${name} PRIVATE DDL_FUZZES)
    if(arg_LANGUAGE)
      target_sources(${name} PRIVATE ${DDL_CUSTOM_MUTATOR})
      target_compile_definitions(${name} PRIVATE DDL_FUZZED_LANGUAGE=${arg_LANGUAGE}_language)
      target_link_libraries(${name} PRIVATE ddl_fuzz_structure)
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzzers")
  else()
    target_link_libraries(${name} PRIVATE ddl_fuzz_replay ddl_quick_to_compile)
    add_test(NAME "fuzz.${name}" COMMAND ${name} "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}" ${arg_SEEDS})
    set_tests_properties("fuzz.${name}" PROPERTIES TIMEOUT 120 LABELS fuzz)
    set(found "${CMAKE_CURRENT_SOURCE_DIR}/found/${name}.tar.xz")
    if(EXISTS "${found}")
      add_test(NAME "fuzz.${name}.found" COMMAND "${CMAKE_COMMAND}" "-DARCHIVE=${found}" "-DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/found/${name}"
        "-DREPLAY=$<TARGET_FILE:${name}>" -P "${CMAKE_CURRENT_SOURCE_DIR}/replay_found.cmake")
      set_tests_properties("fuzz.${name}.found" PROPERTIES TIMEOUT 300 LABELS fuzz)
    endif()
  endif()
endfunction()

# ddl_add_benchmark(<name> SOURCES <file>... LIBRARIES <target>...), in tests/benchmarks: adds a google-benchmark
# program, which `./dev bench --micro` runs.
function(ddl_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} benchmark::benchmark_main ddl_settings ddl_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks")
endfunction()
