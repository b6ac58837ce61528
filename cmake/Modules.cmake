# ddl_add_module(<target> NAME <file without .so> SOURCES <file>... LIBRARIES <target>... [FOR_TESTS])
#
# A part of the program that needs a large library: built beside the program, installed into a folder of its own, and loaded
# when it is first asked for (core/module_loader.hpp). The target `ddl_modules` builds all of them but those FOR_TESTS, which are not
# installed either; the program itself is built without them.
set(DDL_MODULE_BUILD_FOLDER "${PROJECT_BINARY_DIR}/modules")
set(DDL_MODULE_INSTALL_FOLDER "${CMAKE_INSTALL_LIBDIR}/ddl-oracle")

# What modules are linked with. Hidden symbols are called as fast as in a program.
function(ddl_for_modules)
  set_target_properties(${ARGN} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

function(ddl_add_module target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FOR_TESTS" "NAME" "SOURCES;LIBRARIES")
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} ddl::core ddl_settings ddl_warnings)
  # Its own copy of what it says it was built from, which nothing in it calls.
  target_link_options(${target} PRIVATE LINKER:-u,ddl_module_build)
  ddl_for_modules(${target})
  # Libraries outside the folders that the system searches are found where they were when it was built. The path is that of the
  # installed file from the start: CMake would fill up another one with colons, and the loader takes an empty entry for the current
  # folder.
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME "${arg_NAME}" LIBRARY_OUTPUT_DIRECTORY "${DDL_MODULE_BUILD_FOLDER}"
    INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
  if(NOT arg_FOR_TESTS)
    install(TARGETS ${target} LIBRARY DESTINATION "${DDL_MODULE_INSTALL_FOLDER}")
    set_property(GLOBAL APPEND PROPERTY DDL_MODULES ${target})
  endif()
endfunction()
