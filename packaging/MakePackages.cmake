# Installs the program into a folder of its own, and packs that: cmake -DPYTHON= -DSOURCE= -DBUILD= -DCONFIG= -DVERSION=
# -DARCHITECTURE= -DGIT= -DTO= -DMODULES= -P MakePackages.cmake
cmake_minimum_required(VERSION 3.25)

set(tree "${TO}/tree")
file(REMOVE_RECURSE "${TO}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${tree}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
# A program that is not static, as in tests, has modules, which need the libraries of this machine.
file(REMOVE_RECURSE "${tree}/${MODULES}")

# The time of every file in the packages: SOURCE_DATE_EPOCH, or that of the commit.
set(time "$ENV{SOURCE_DATE_EPOCH}")
if(NOT time AND GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" --no-optional-locks log -1 --format=%ct
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT time)
  set(time 315532800)  # the first that zip files know
endif()

# The licences of the libraries in the program, as their packages have them.
set(licenses "${tree}/share/doc/ddl-oracle/licenses")
file(MAKE_DIRECTORY "${licenses}")
execute_process(COMMAND "${tree}/bin/ddl-oracle" --licenses OUTPUT_FILE "${licenses}/libraries.txt" COMMAND_ERROR_IS_FATAL ANY)
foreach(package IN ITEMS libcli11-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libstdc++6 libc6)
  foreach(file IN ITEMS "/usr/share/doc/${package}/copyright")
    if(EXISTS "${file}")
      file(READ "${file}" text)
      file(WRITE "${licenses}/${package}.txt" "${text}")
    else()
      message(STATUS "no licence of ${package} on this system: the packages name it without its text")
    endif()
  endforeach()
endforeach()
foreach(licence IN ITEMS LGPL-2.1 GPL-3)
  if(EXISTS "/usr/share/common-licenses/${licence}")
    file(READ "/usr/share/common-licenses/${licence}" text)
    file(WRITE "${licenses}/${licence}.txt" "${text}")
  endif()
endforeach()

execute_process(
  COMMAND "${PYTHON}" "${SOURCE}/packaging/make_packages.py" --tree "${tree}" --module "${SOURCE}/packaging/ddl_oracle"
    --version "${VERSION}" --architecture "${ARCHITECTURE}" --time "${time}" --to "${TO}"
  COMMAND_ERROR_IS_FATAL ANY)
