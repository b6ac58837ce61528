# Every library comes from the system. One that is missing is named together with the Debian package that brings it.
# Imported targets are SYSTEM: their headers are compiled without our warnings.

# ddl_require(<package> VERSION <at least> DEBIAN <package to install> FOR <what it is for>)
# leaves <package>_VERSION in the caller's scope. No upper limit: the newer major versions are wanted too.
function(ddl_require package)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;DEBIAN;FOR" "")
  find_package(${package} QUIET CONFIG)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} (${arg_FOR}) was not found.\n"
      "On Debian and Ubuntu:  apt-get install ${arg_DEBIAN}\n"
      "Elsewhere, install ${package} ${arg_VERSION} or newer and add its prefix to CMAKE_PREFIX_PATH.")
  endif()
  if(${package}_VERSION VERSION_LESS arg_VERSION)
    message(FATAL_ERROR "${package} (${arg_FOR}) ${${package}_VERSION} in ${${package}_DIR} is too old: "
      "${arg_VERSION} or newer is needed.\nOn Debian 12, Ubuntu 24.04 and newer:  apt-get install ${arg_DEBIAN}")
  endif()
  set(${package}_VERSION "${${package}_VERSION}" PARENT_SCOPE)
  set(${package}_DIR "${${package}_DIR}" PARENT_SCOPE)
endfunction()

ddl_require(CLI11 VERSION 2.1 DEBIAN libcli11-dev FOR "arguments of the command line")
ddl_require(yaml-cpp VERSION 0.7 DEBIAN libyaml-cpp-dev FOR "model, machine and coefficients files")
ddl_require(Eigen3 VERSION 3.4 DEBIAN libeigen3-dev FOR "fits of coefficients")
ddl_require(fmt VERSION 9 DEBIAN libfmt-dev FOR "text")
ddl_require(nlohmann_json VERSION 3.10 DEBIAN nlohmann-json3-dev FOR "JSON")
if(BUILD_TESTING)
  ddl_require(Catch2 VERSION 2.13 DEBIAN catch2 FOR "tests; or configure with -DBUILD_TESTING=OFF")
endif()
if(DDL_BUILD_BENCHMARKS)
  ddl_require(benchmark VERSION 1.7 DEBIAN libbenchmark-dev FOR "micro-benchmarks, DDL_BUILD_BENCHMARKS")
endif()

# Optional: a back end whose library is missing is left out, and says so when it is asked for.
find_package(dnnl QUIET CONFIG)
if(dnnl_FOUND)
  find_package(OpenMP REQUIRED)  # its threads
endif()

# Optional: without it, ddl-oracle says that it cannot import ONNX files, and how to change that.
# ONNX's own package names protobuf's target without looking for it.
find_package(Protobuf QUIET)
if(Protobuf_FOUND)
  find_package(ONNX QUIET CONFIG)
endif()
if(ONNX_FOUND)
  add_library(ddl_onnx INTERFACE)
  target_link_libraries(ddl_onnx INTERFACE onnx onnx_proto)
  add_library(ddl::onnx ALIAS ddl_onnx)
endif()

# ddl::yaml: the target is named yaml-cpp up to 0.7, yaml-cpp::yaml-cpp from 0.8.
if(TARGET yaml-cpp::yaml-cpp)
  add_library(ddl::yaml ALIAS yaml-cpp::yaml-cpp)
else()
  add_library(ddl::yaml ALIAS yaml-cpp)
endif()
