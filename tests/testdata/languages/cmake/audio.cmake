#[==[
Helpers for the synthesizer.
function(not_a_function)
endfunction()
#]==]
#[[ macro(nor_this) endmacro() ]]
include_guard(GLOBAL)
cmake_minimum_required(VERSION 3.25...3.30 FATAL_ERROR)

project(
  polysynth
  VERSION 2.4.1
  DESCRIPTION "A synthesizer; project(fake) in text"
  LANGUAGES C CXX
)

list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/modules")
include(GNUInstallDirs)
include(FetchContent OPTIONAL)
include("${CMAKE_CURRENT_LIST_DIR}/sanitizers.cmake")
find_package(Threads REQUIRED)
find_package(JACK 1.9 COMPONENTS client QUIET)

option(POLYSYNTH_WITH_JACK "Use JACK" ${JACK_FOUND})
option ( POLYSYNTH_BENCH   "Build the benchmarks"   OFF )
set(POLYSYNTH_VOICES 64 CACHE STRING "Voices at most")
set_property(CACHE POLYSYNTH_VOICES PROPERTY STRINGS 16 32 64)
set(SOURCES
  src/voice.cpp
  src/envelope.cpp # set(HIDDEN 1)
)
set(ENV{LC_ALL} C)
set("QUOTED_NAME" 1)
cmake_dependent_option(POLYSYNTH_LTO "Optimise at link time" ON "NOT POLYSYNTH_BENCH" OFF)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)

# Adds a plug-in in each of the formats.
#
#   polysynth_add_plugin(<name> [FORMATS vst3 clap] SOURCES ...)
function(polysynth_add_plugin name)
  set(one_value OUTPUT_NAME BUNDLE_ID)
  set(multi_value SOURCES FORMATS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STRICT" "${one_value}" "${multi_value}")
  if(NOT arg_FORMATS)
    set(arg_FORMATS clap)
  endif()

  foreach(format IN LISTS arg_FORMATS)
    set(target "${name}_${format}")
    add_library(${target} MODULE ${arg_SOURCES})
    add_library(polysynth::${target} ALIAS ${target})
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_link_libraries(
      ${target}
      PRIVATE polysynth::dsp $<$<PLATFORM_ID:Linux>:Threads::Threads>
    )
  endforeach()
  return(PROPAGATE target)
endfunction(polysynth_add_plugin)

MACRO (POLYSYNTH_WARN)
  message(WARNING "polysynth: ${ARGN}")
ENDMACRO ()

add_library(dsp STATIC)
add_library(polysynth::dsp ALIAS dsp)
target_sources(dsp
  PRIVATE ${SOURCES}
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES include/dsp.hpp)

add_library(tables OBJECT
  src/tables.c
)
add_library(headers INTERFACE IMPORTED GLOBAL)

if (POLYSYNTH_WITH_JACK AND
    NOT WIN32)
  add_executable(polysynthd src/main.cpp
                 "src/jack (client).cpp")
  install(TARGETS polysynthd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif ()

add_custom_command(
  OUTPUT wavetable.inc
  COMMAND generate --out wavetable.inc
  DEPENDS generate
  VERBATIM)
add_custom_target(wavetables ALL DEPENDS wavetable.inc
  COMMENT "add_executable(fake) is a comment")

FetchContent_Declare(
  catch2
  GIT_REPOSITORY https://git.example.org/catch2.git
  GIT_TAG        v3.7.0)
FetchContent_MakeAvailable(catch2)

enable_testing()
foreach(case IN ITEMS envelope filter)
  add_executable(test_${case} tests/${case}.cpp)
  add_test(NAME unit.${case} COMMAND test_${case} --order rand)
endforeach()
add_test(NAME "offline render" COMMAND polysynthd --offline)
add_test(NAME smoke
  COMMAND polysynthd --version)
add_test(legacy polysynthd --help)

block(SCOPE_FOR VARIABLES)
  set(inner 1)
endblock()
add_subdirectory(docs EXCLUDE_FROM_ALL)
if(POLYSYNTH_BENCH)
  add_subdirectory("bench/micro")
endif()
export(EXPORT polysynthTargets NAMESPACE polysynth::)
set(CPACK_PACKAGE_NAME [[poly
synth]])
include(CPack)
