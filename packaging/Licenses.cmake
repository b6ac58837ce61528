# Collects the licenses of the libraries in the program, which packages of binaries must contain. As a script:
# cmake -DPROGRAM= -DTO= -P Licenses.cmake
cmake_minimum_required(VERSION 3.25)

# Writes into `folder` the list of libraries that `program --licenses` prints, and the license texts of their Debian packages.
function(write_licenses program folder)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${program}" --licenses OUTPUT_FILE "${folder}/libraries.txt" COMMAND_ERROR_IS_FATAL ANY)
  foreach(package IN ITEMS libcli11-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libevent-dev
      libtomlplusplus-dev libstdc++6 libc6)
    set(file "/usr/share/doc/${package}/copyright")
    if(EXISTS "${file}")
      file(READ "${file}" text)
      file(WRITE "${folder}/${package}.txt" "${text}")
    else()
      message(STATUS "no license text of ${package} on this system: ${folder} lists ${package} without a text")
    endif()
  endforeach()
  foreach(license IN ITEMS LGPL-2.1 GPL-3)
    if(EXISTS "/usr/share/common-licenses/${license}")
      file(READ "/usr/share/common-licenses/${license}" text)
      file(WRITE "${folder}/${license}.txt" "${text}")
    endif()
  endforeach()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  write_licenses("${PROGRAM}" "${TO}")
endif()
