# Writes core/version.cpp: cmake -DINPUT= -DOUTPUT= -DVERSION= -DCHECKOUT= -DGIT= -P WriteVersion.cmake
# Run at each build, since no file tells CMake that the commit has changed; the output is rewritten only when it differs.
cmake_minimum_required(VERSION 3.25)

set(DDL_VERSION "${VERSION}")
set(DDL_COMMIT unknown)
# Only a checkout of this project counts: an unpacked release may lie inside another project's checkout.
if(GIT AND EXISTS "${CHECKOUT}/.git")
  # --exclude=* leaves no tag to describe by, which with --always is the bare commit.
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
