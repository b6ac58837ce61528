# ddl_embed(TARGET <target> FUNCTION <name> FOLDER <folder> FILES <file>...)
#
# Compiles data files into <target>. Adds a source that is generated again when a file changes. The source defines
# `std::span<const ddl::EmbeddedFile> ddl::<name>()` (core/embedded.hpp), sorted by the files' stems.
# <folder> is relative to the current source folder, each <file> to <folder>.
set(DDL_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/EmbedFile.cmake")

function(ddl_embed)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;FUNCTION;FOLDER" "FILES")
  foreach(required IN ITEMS TARGET FUNCTION FOLDER)
    if(NOT arg_${required})
      message(FATAL_ERROR "ddl_embed: ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ddl_embed: unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()

  cmake_path(ABSOLUTE_PATH arg_FOLDER NORMALIZE OUTPUT_VARIABLE folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown_folder)
  set(inputs "")
  set(stems "")
  foreach(file IN LISTS arg_FILES)
    if(NOT EXISTS "${folder}/${file}")
      message(FATAL_ERROR "ddl_embed: no file '${file}' in ${folder}")
    endif()
    cmake_path(GET file STEM LAST_ONLY stem)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "ddl_embed: two files are named '${stem}' in ${folder}")
    endif()
    list(APPEND stems "${stem}")
    list(APPEND inputs "${folder}/${file}")
  endforeach()

  set(output "${CMAKE_CURRENT_BINARY_DIR}/${arg_FUNCTION}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFUNCTION=${arg_FUNCTION}" "-DFOLDER=${folder}" "-DSHOWN_FOLDER=${shown_folder}"
      "-DFILES=${arg_FILES}" "-DOUTPUT=${output}" -P "${DDL_EMBED_SCRIPT}"
    DEPENDS ${inputs} "${DDL_EMBED_SCRIPT}"
    COMMENT "Embedding ${shown_folder}"
    VERBATIM)
  # CMake writes a source that belongs to one target only after all libraries of this target. A second target without libraries
  # lets all modules compile at the same time.
  add_custom_target(${arg_FUNCTION}_source DEPENDS "${output}")
  add_dependencies(${arg_TARGET} ${arg_FUNCTION}_source)
  target_sources(${arg_TARGET} PRIVATE "${output}")
  # Clang warns of literals above 65,536 bytes, because a C++ compiler may refuse longer literals. The supported compilers
  # accept megabytes.
  set_source_files_properties("${output}" PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:Clang>:-Wno-overlength-strings>")
endfunction()
