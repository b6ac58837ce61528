# Every library comes from the system. If a library is missing, an error names the library and its Debian package. Imported
# targets are SYSTEM, so that their headers are compiled without our warnings.

# ddl_require(<package> VERSION <at least> DEBIAN <package to install> FOR <what it is for>) leaves <package>_VERSION in the
# caller's scope. There is no upper limit, because newer major versions are supported, too.
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
if(DDL_STATIC)
  # Debian has no static library of fmt, so fmt is compiled into our own libraries.
  find_path(DDL_FMT_INCLUDE fmt/format-inl.h REQUIRED)
  mark_as_advanced(DDL_FMT_INCLUDE)
  add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
  target_include_directories(fmt::fmt SYSTEM INTERFACE "${DDL_FMT_INCLUDE}")
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
else()
  ddl_require(fmt VERSION 9 DEBIAN libfmt-dev FOR "text")
endif()
ddl_require(nlohmann_json VERSION 3.10 DEBIAN nlohmann-json3-dev FOR "JSON")
ddl_require(tomlplusplus VERSION 3.0 DEBIAN libtomlplusplus-dev FOR "configurations of torchtitan")
if(BUILD_TESTING)
  ddl_require(Catch2 VERSION 2.13 DEBIAN catch2 FOR "tests; or configure with -DBUILD_TESTING=OFF")
endif()
if(DDL_BUILD_BENCHMARKS)
  ddl_require(benchmark VERSION 1.7 DEBIAN libbenchmark-dev FOR "micro-benchmarks, DDL_BUILD_BENCHMARKS")
endif()

# ddl::yaml stands for the target of yaml-cpp, named yaml-cpp up to version 0.7 and yaml-cpp::yaml-cpp from 0.8.
if(DDL_STATIC)
  find_library(DDL_YAML_ARCHIVE libyaml-cpp.a REQUIRED)
  mark_as_advanced(DDL_YAML_ARCHIVE)
  add_library(ddl::yaml STATIC IMPORTED GLOBAL)
  set_target_properties(ddl::yaml PROPERTIES IMPORTED_LOCATION "${DDL_YAML_ARCHIVE}")
elseif(TARGET yaml-cpp::yaml-cpp)
  add_library(ddl::yaml ALIAS yaml-cpp::yaml-cpp)
else()
  add_library(ddl::yaml ALIAS yaml-cpp)
endif()

# Optional: libevent, which speaks HTTP for `serve`. Static archives are used if they exist, so that the program loads no
# further library.
find_path(DDL_EVENT_INCLUDE event2/http.h)
find_library(DDL_EVENT_CORE NAMES libevent_core.a event_core)
find_library(DDL_EVENT_EXTRA NAMES libevent_extra.a event_extra)
mark_as_advanced(DDL_EVENT_INCLUDE DDL_EVENT_CORE DDL_EVENT_EXTRA)
if(DDL_EVENT_INCLUDE AND DDL_EVENT_CORE AND DDL_EVENT_EXTRA)
  find_package(Threads REQUIRED)
  add_library(ddl_http INTERFACE)
  target_include_directories(ddl_http SYSTEM INTERFACE "${DDL_EVENT_INCLUDE}")
  target_link_libraries(ddl_http INTERFACE "${DDL_EVENT_EXTRA}" "${DDL_EVENT_CORE}" Threads::Threads)
  add_library(ddl::http ALIAS ddl_http)
endif()

# The following libraries are for modules, which a static program cannot load.
if(DDL_STATIC)
  return()
endif()

# Optional: a back end whose library is missing is not built. If it is requested, the program says so.
find_package(dnnl QUIET CONFIG)
if(dnnl_FOUND)
  find_package(OpenMP QUIET COMPONENTS CXX)  # threads of oneDNN; Clang's OpenMP is a separate package
endif()

# Optional, for GPUs: CUDA with its compiler, and cuDNN. cuDNN has no package files for CMake.
find_package(CUDAToolkit 12 QUIET)
if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND TARGET CUDA::cudart_static)
  find_path(DDL_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDNN_ROOT}/include)
  find_library(DDL_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDNN_ROOT}/lib)
  mark_as_advanced(DDL_CUDNN_INCLUDE DDL_CUDNN_LIBRARY)
  include(CheckLanguage)
  check_language(CUDA)
  if(DDL_CUDNN_INCLUDE AND DDL_CUDNN_LIBRARY AND CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      include(CudaArchitectures)
      ddl_cuda_architectures(CMAKE_CUDA_ARCHITECTURES "${CUDAToolkit_VERSION}")
    endif()
    if(NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER AND DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
    endif()
    enable_language(CUDA)
    add_library(ddl_cudnn INTERFACE)
    target_include_directories(ddl_cudnn SYSTEM INTERFACE "${DDL_CUDNN_INCLUDE}")
    target_link_libraries(ddl_cudnn INTERFACE "${DDL_CUDNN_LIBRARY}")
    add_library(ddl::cudnn ALIAS ddl_cudnn)
    # `./dev gpu-pack` copies these requirements into the pack.
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " ddl_architectures)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/gpu.txt" @ONLY
      CONTENT "cuda @CMAKE_CUDA_COMPILER_VERSION@\narchitectures @ddl_architectures@\n")
  endif()
endif()

# Optional, for sweeps of networks of GPUs: NCCL. NCCL has no package files for CMake.
if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
  find_path(DDL_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_ROOT}/include)
  find_library(DDL_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} ${NCCL_ROOT}/lib)
  mark_as_advanced(DDL_NCCL_INCLUDE DDL_NCCL_LIBRARY)
  if(DDL_NCCL_INCLUDE)
    # ncclGetLastError exists since NCCL 2.13.
    file(STRINGS "${DDL_NCCL_INCLUDE}/nccl.h" DDL_NCCL_LAST_ERROR REGEX "ncclGetLastError" LIMIT_COUNT 1)
  endif()
  if(DDL_NCCL_LAST_ERROR AND DDL_NCCL_LIBRARY)
    add_library(ddl_nccl INTERFACE)
    target_include_directories(ddl_nccl SYSTEM INTERFACE "${DDL_NCCL_INCLUDE}" ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(ddl_nccl INTERFACE "${DDL_NCCL_LIBRARY}" CUDA::cudart_static)
    add_library(ddl::nccl ALIAS ddl_nccl)
  endif()
endif()

# Optional, for sweeps of a network: any MPI. Only its C functions are used; the standard no longer has the C++ functions.
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI 3.0 QUIET COMPONENTS CXX)

# Optional: without it, ddl-oracle reports that it cannot import ONNX files, and what to install.
# ONNX's package refers to protobuf's target, but does not search for it.
find_package(Protobuf QUIET)
if(Protobuf_FOUND)
  find_package(ONNX QUIET CONFIG)
endif()
if(ONNX_FOUND)
  add_library(ddl_onnx INTERFACE)
  target_link_libraries(ddl_onnx INTERFACE onnx onnx_proto)
  add_library(ddl::onnx ALIAS ddl_onnx)
endif()
