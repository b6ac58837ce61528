# Installs the program into a separate folder, and packs the folder: cmake -DPYTHON= -DSOURCE= -DBUILD= -DCONFIG= -DVERSION=
# -DARCHITECTURE= -DGIT= -DTO= -DMODULES= -P MakePackages.cmake
cmake_minimum_required(VERSION 3.25)

set(tree "${TO}/tree")
file(REMOVE_RECURSE "${TO}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${tree}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
# In tests, the program may have modules. Modules need libraries of this machine and are not packed.
file(REMOVE_RECURSE "${tree}/${MODULES}")

# The time of every file in the packages, in seconds since 1970: SOURCE_DATE_EPOCH, else the time of the commit.
set(time "$ENV{SOURCE_DATE_EPOCH}")
if(NOT time AND GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" --no-optional-locks log -1 --format=%ct
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT time)
  set(time 315532800)  # 1980-01-01, the earliest time in zip files
endif()

include("${CMAKE_CURRENT_LIST_DIR}/Licenses.cmake")
write_licenses("${tree}/bin/ddl-oracle" "${tree}/share/doc/ddl-oracle/licenses")

execute_process(
  COMMAND "${PYTHON}" "${SOURCE}/packaging/make_packages.py" --tree "${tree}" --module "${SOURCE}/packaging/ddl_oracle"
    --version "${VERSION}" --architecture "${ARCHITECTURE}" --time "${time}" --to "${TO}"
  COMMAND_ERROR_IS_FATAL ANY)
