# ddl_add_module(<target> NAME <file without .so> SOURCES <file>... LIBRARIES <target>... [FOR_TESTS])
#
# A module is a part of the program that needs a large library. It is built next to the program, installed into a separate
# folder, and loaded when it is first needed (core/module_loader.hpp). The target `ddl_modules` builds all modules, except
# modules FOR_TESTS, which are not installed either. The program can be built without modules.
set(DDL_MODULE_BUILD_FOLDER "${PROJECT_BINARY_DIR}/modules")
set(DDL_MODULE_INSTALL_FOLDER "${CMAKE_INSTALL_LIBDIR}/ddl-oracle")

# Compile settings of modules. With hidden symbols, calls inside a module are as fast as in a program.
function(ddl_for_modules)
  set_target_properties(${ARGN} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

function(ddl_add_module target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FOR_TESTS" "NAME" "SOURCES;LIBRARIES")
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} ddl::core ddl_settings ddl_warnings)
  # Links ddl_module_build, the module's own version, which only the loader of modules calls.
  target_link_options(${target} PRIVATE LINKER:-u,ddl_module_build)
  ddl_for_modules(${target})
  # A module finds libraries outside the system's folders at their paths of build time. The RPATH of the installed file is
  # set when the module is built. Otherwise, CMake would pad the RPATH with colons, and the loader reads an empty entry as
  # the current folder.
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME "${arg_NAME}" LIBRARY_OUTPUT_DIRECTORY "${DDL_MODULE_BUILD_FOLDER}"
    INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
  if(NOT arg_FOR_TESTS)
    install(TARGETS ${target} LIBRARY DESTINATION "${DDL_MODULE_INSTALL_FOLDER}")
    set_property(GLOBAL APPEND PROPERTY DDL_MODULES ${target})
  endif()
endfunction()
