# cmake -DMODULES=<cmake/ of the project> -P cuda_architectures.cmake
cmake_minimum_required(VERSION 3.25)
list(APPEND CMAKE_MODULE_PATH "${MODULES}")
include(CudaArchitectures)

function(expect version expected)
  ddl_cuda_architectures(architectures "${version}")
  if(NOT "${architectures}" STREQUAL "${expected}")
    message(FATAL_ERROR "CUDA ${version} compiles for '${architectures}', not for '${expected}'")
  endif()
endfunction()

# Only CUDA 12 supports Pascal and Volta.
expect(12.0.76 "60-real;70-real;75-virtual;80-real;90-real")
expect(12.6.85 "60-real;70-real;75-virtual;80-real;90-real")
expect(12.9 "60-real;70-real;75-virtual;80-real;90-real")
expect(13.0.88 "75-virtual;80-real;90-real")
expect(14 "75-virtual;80-real;90-real")
