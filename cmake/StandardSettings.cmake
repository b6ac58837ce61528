# ddl_settings: compiler settings for every target of the project, but not for third-party code.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
# ccache keeps compiled sources, also for other build folders.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(DDL_CCACHE ccache DOC "Compiler cache; optional")
  mark_as_advanced(DDL_CCACHE)
  if(DDL_CCACHE)
    # The cache distinguishes precompiled headers by their contents.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_SLOPPINESS=pch_defines,time_macros" "${DDL_CCACHE}")
  endif()
endif()
# The program is at the top of the build folder; tests/ sets its own folder.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

add_library(ddl_settings INTERFACE)
target_compile_features(ddl_settings INTERFACE cxx_std_20)
target_include_directories(ddl_settings INTERFACE "${PROJECT_SOURCE_DIR}")
# Without fused multiply-adds, which round differently, all processors compute the same last digits.
target_compile_options(ddl_settings INTERFACE -ffp-contract=off)
# GCC collects unused memory only above 1 GiB, because collections take an eighth of the time to compile a group of sources.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ddl_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>")
endif()

# ddl_quick_to_compile: settings for code that takes longer to compile than to run, such as commands, readers of files and
# tests. -O0 is not used, because the linker keeps only one copy of an inline function from several sources, and an
# unoptimized copy would slow the estimator down.
add_library(ddl_quick_to_compile INTERFACE)
target_compile_options(ddl_quick_to_compile INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:$<IF:$<BOOL:${DDL_STATIC}>,-Os,-O1>>")

# The program reads untrusted files. Hardening turns a memory error into the end of the program, so that no file takes control.
# Hardening applies to the program and its modules. Sanitizers run without hardening, which would hide their checks.
if(DDL_HARDEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  if(NOT DDL_STATIC)  # the static program uses -static-pie
    include(CheckPIESupported)
    check_pie_supported(LANGUAGES CXX)
  endif()
  include(CheckCXXCompilerFlag)
  include(CheckLinkerFlag)
  target_compile_definitions(ddl_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>")
  foreach(flag IN ITEMS -fstack-protector-strong -fcf-protection=full -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "DDL_HAS${flag}" has)
    check_cxx_compiler_flag("${flag}" ${has})
    if(${has})
      target_compile_options(ddl_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${flag}>")
    endif()
  endforeach()
  if(NOT DDL_SANITIZE)
    # _FORTIFY_SOURCE needs optimization. Ubuntu's compiler already defines it, and warns of a second definition.
    target_compile_options(ddl_settings INTERFACE
      "$<$<AND:$<NOT:$<CONFIG:Debug>>,$<COMPILE_LANGUAGE:CXX>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
  endif()
  check_linker_flag(CXX "LINKER:-z,relro,-z,now" DDL_HAS_FULL_RELRO)
  if(DDL_HAS_FULL_RELRO)
    target_link_options(ddl_settings INTERFACE "LINKER:-z,relro,-z,now")
  endif()
endif()

# Packaged programs are small, and do not contain the path of the build folder, so that two builds of one commit are equal
# byte for byte.
if(DDL_STATIC)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
  target_compile_options(ddl_settings INTERFACE
    -ffunction-sections -fdata-sections "$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
  target_link_options(ddl_settings INTERFACE -static-pie LINKER:--gc-sections,--strip-all)
endif()

if(DDL_SANITIZE)
  target_compile_options(ddl_settings INTERFACE
    "-fsanitize=${DDL_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ddl_settings INTERFACE "-fsanitize=${DDL_SANITIZE}")
endif()

if(DDL_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DDL_BUILD_FUZZERS needs Clang, which has libFuzzer; the compiler is ${CMAKE_CXX_COMPILER_ID}.\n"
      "Configure with the preset 'fuzz', or with -DCMAKE_CXX_COMPILER=clang++.")
  endif()
  # Coverage that guides the fuzzers. ddl_add_fuzzer links the fuzzers' main function.
  target_compile_options(ddl_settings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(ddl_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()
