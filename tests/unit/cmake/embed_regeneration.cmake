# A changed data file must change the generated source at the next build: builds a project of its own, without a compiler.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${SCRATCH}")
file(WRITE "${SCRATCH}/data/one.yaml" "old")
file(WRITE "${SCRATCH}/CMakeLists.txt" "
cmake_minimum_required(VERSION 3.25)
project(scratch LANGUAGES NONE)
include(\"${SOURCE_FOLDER}/cmake/EmbedFiles.cmake\")
add_custom_target(generated ALL)
ddl_embed(TARGET generated FUNCTION scratch_files FOLDER data FILES one.yaml)
")

function(build)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${SCRATCH}/build" OUTPUT_VARIABLE output ERROR_VARIABLE output
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect text)
  file(READ "${SCRATCH}/build/scratch_files.cpp" source)
  string(FIND "${source}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "The generated source does not hold '${text}':\n${source}")
  endif()
endfunction()

execute_process(COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SCRATCH}" -B "${SCRATCH}/build" OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
build()
expect([[\x6f\x6c\x64]])  # old
expect([["data/one.yaml"]])

execute_process(COMMAND "${CMAKE_COMMAND}" -E sleep 1.1)  # coarse file times must still differ
file(WRITE "${SCRATCH}/data/one.yaml" "new")
build()
expect([[\x6e\x65\x77]])  # new
