# Writes core/version.cpp: cmake -DINPUT= -DOUTPUT= -DVERSION= -DCHECKOUT= -DGIT= -P WriteVersion.cmake
# This script runs at each build, because no file tells CMake that the commit has changed. The output is rewritten only if it
# differs.
cmake_minimum_required(VERSION 3.25)

set(DDL_VERSION "${VERSION}")
set(DDL_COMMIT unknown)
# Only a checkout of this project counts: an unpacked release may lie inside another project's checkout.
if(GIT AND EXISTS "${CHECKOUT}/.git")
  # --exclude=* excludes all tags, so that --always prints only the commit.
  execute_process(
    COMMAND "${GIT}" --no-optional-locks describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY "${CHECKOUT}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed
    ERROR_QUIET)
  if(NOT failed AND commit)
    set(DDL_COMMIT "${commit}")
  endif()
endif()
configure_file("${INPUT}" "${OUTPUT}" @ONLY)
