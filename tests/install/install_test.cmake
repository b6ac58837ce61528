# An installed tree must be complete, contain nothing else, and work after being moved, from any folder, in an empty
# environment: cmake -DSOURCE= -DBUILD= -DCONFIG= -DVERSION= -DBINDIR= -DDOCDIR= -DMODULES= -DNET= -DSCRATCH= -P
# install_test.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}/empty")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${SCRATCH}/staged"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${SCRATCH}/staged" "${SCRATCH}/moved")

file(GLOB_RECURSE installed LIST_DIRECTORIES false RELATIVE "${SCRATCH}/moved" "${SCRATCH}/moved/*")
set(manual "${MANDIR}/man1/ddl-oracle.1" "${DATADIR}/bash-completion/completions/ddl-oracle"
  "${DATADIR}/zsh/site-functions/_ddl-oracle" "${DATADIR}/fish/vendor_completions.d/ddl-oracle.fish")
set(expected "${BINDIR}/ddl-oracle" ${MODULES} "${DOCDIR}/LICENSE" "${DOCDIR}/README.md" ${manual})
list(SORT expected)
list(SORT installed)
if(NOT "${installed}" STREQUAL "${expected}")
  message(FATAL_ERROR "installed: ${installed}\nexpected:  ${expected}")
endif()

# run(<expected in the output> <argument>...)
function(run expected)
  execute_process(COMMAND env -i "${SCRATCH}/moved/${BINDIR}/ddl-oracle" ${ARGN} WORKING_DIRECTORY "${SCRATCH}/empty"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  string(FIND "${output}" "${expected}" place)
  if(NOT result EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "ddl-oracle ${ARGN}: expected '${expected}' and exit code 0, got ${result}:\n${output}${errors}")
  endif()
endfunction()

foreach(file IN LISTS manual)
  file(SIZE "${SCRATCH}/moved/${file}" size)
  if(size LESS 10000)
    message(FATAL_ERROR "${file} is only ${size} bytes long")
  endif()
endforeach()
run("${VERSION}" --version)
# The bundled data is compiled in: every machine is listed even here.
file(GLOB machines "${SOURCE}/calibration/machines/*.yaml")
if(NOT machines)
  message(FATAL_ERROR "no bundled machines in ${SOURCE}/calibration/machines")
endif()
foreach(machine IN LISTS machines)
  cmake_path(GET machine STEM LAST_ONLY name)
  run("${name}" machines list)
endforeach()
if(MODULES MATCHES "import-onnx")
  run("\"parameters\": 2330" models import "${NET}" --format json)
endif()
run("simulated,true," backends --format csv)
if(MODULES MATCHES "backend-onednn")
  run("onednn,true," backends --format csv)
endif()
file(GLOB left "${SCRATCH}/empty/*")
if(left)
  message(FATAL_ERROR "the program left files behind: ${left}")
endif()
