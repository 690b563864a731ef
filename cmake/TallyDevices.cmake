# Device code, as custom commands: CMake's HIP language needs files that Debian does not install,
# and its CUDA language would end the configuration where there is no nvcc. Where a tool is absent,
# TALLY_NO_GFX942 or TALLY_NO_SM_90 says which, and tests say it when they are skipped.

find_program(TALLY_HIP_CLANG NAMES clang++-19 clang++-20 clang++-21)
get_filename_component(llvm "${TALLY_HIP_CLANG}" REALPATH)
get_filename_component(llvm "${llvm}" DIRECTORY)
find_program(TALLY_HIP_BUNDLER clang-offload-bundler PATHS ${llvm} NO_DEFAULT_PATH)
find_program(TALLY_LLD NAMES ld.lld-19 ld.lld-20 ld.lld-21 ld.lld)
find_path(TALLY_HIP_INCLUDE hip/hip_runtime.h)
find_library(TALLY_HIP_RUNTIME amdhip64)
find_path(TALLY_HIP_BITCODE ockl.bc PATH_SUFFIXES
  lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode lib/amdgcn/bitcode)
find_program(TALLY_NVCC nvcc HINTS /usr/local/cuda/bin)
find_library(TALLY_CUDA_RUNTIME cudart_static HINTS /usr/local/cuda/lib64)

# tally_missing(variable tool...): a sentence about the tools that were not found, else nothing.
function(tally_missing variable)
  set(absent "")
  foreach(tool ${ARGN})
    if(NOT TALLY_${tool})
      string(APPEND absent " TALLY_${tool}")
    endif()
  endforeach()
  if(absent)
    set(absent "CMake did not find${absent}")
  endif()
  set(${variable} "${absent}" PARENT_SCOPE)
endfunction()
tally_missing(TALLY_NO_GFX942_ASSEMBLY HIP_CLANG HIP_INCLUDE HIP_BITCODE)
tally_missing(TALLY_NO_GFX942_OBJECT HIP_CLANG HIP_INCLUDE HIP_BITCODE HIP_BUNDLER HIP_RUNTIME LLD)
tally_missing(TALLY_NO_SM_90_ASSEMBLY NVCC)
tally_missing(TALLY_NO_SM_90_OBJECT NVCC CUDA_RUNTIME)

# The arithmetic that tally_flags freezes on hosts, frozen here. nvcc has its own words for it.
set(TALLY_GFX942_FLAGS -x hip --offload-arch=gfx942 -std=c++20 -O3 -ffp-contract=off -Wall -Wextra
  -D__HIP_PLATFORM_AMD__ -I${PROJECT_SOURCE_DIR} --rocm-path=/usr
  --rocm-device-lib-path=${PROJECT_BINARY_DIR}/gfx942_bitcode)
set(TALLY_SM_90_FLAGS -std=c++20 -arch=sm_90 -O3 --fmad=false --ftz=false --prec-div=true
  --expt-relaxed-constexpr -Werror=all-warnings -I${PROJECT_SOURCE_DIR})
if(TALLY_HIP_BITCODE)
  # Debian's device libraries end at gfx940, whose instructions gfx942 has.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gfx942_bitcode)
  file(GLOB bitcode ${TALLY_HIP_BITCODE}/*.bc)
  foreach(file ${bitcode})
    get_filename_component(name ${file} NAME)
    file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/gfx942_bitcode/${name} SYMBOLIC)
  endforeach()
  if(NOT EXISTS ${TALLY_HIP_BITCODE}/oclc_isa_version_942.bc)
    file(CREATE_LINK ${TALLY_HIP_BITCODE}/oclc_isa_version_940.bc
      ${PROJECT_BINARY_DIR}/gfx942_bitcode/oclc_isa_version_942.bc SYMBOLIC)
  endif()
endif()

# tally_device_file(variable DEVICE gfx942|sm_90 KIND assembly|object SOURCE file): compiles one
# source and names the result in `variable`; empty where the device's tools are absent.
function(tally_device_file variable)
  cmake_parse_arguments(arg "" "DEVICE;KIND;SOURCE" "" ${ARGN})
  set(${variable} "" PARENT_SCOPE)
  string(TOUPPER TALLY_NO_${arg_DEVICE}_${arg_KIND} missing)
  if(${missing})
    return()
  endif()
  set(gfx942_compiler ${TALLY_HIP_CLANG})
  set(gfx942_assembly s --offload-device-only -S)
  set(gfx942_object o -c)
  set(sm_90_compiler ${TALLY_NVCC})
  set(sm_90_assembly ptx -ptx)
  set(sm_90_object o -c)
  set(how ${${arg_DEVICE}_${arg_KIND}})
  list(POP_FRONT how suffix)
  string(TOUPPER TALLY_${arg_DEVICE}_FLAGS flags)
  get_filename_component(stem ${arg_SOURCE} NAME_WE)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
  set(result ${CMAKE_CURRENT_BINARY_DIR}/${stem}.${arg_DEVICE}.${suffix})
  add_custom_command(OUTPUT ${result} DEPENDS ${source} DEPFILE ${result}.d
    COMMAND ${${arg_DEVICE}_compiler} ${${flags}} ${how} -MD -MF ${result}.d ${source} -o ${result}
    COMMENT "Compiling ${arg_SOURCE} for ${arg_DEVICE}" VERBATIM)
  set(${variable} ${result} PARENT_SCOPE)
endfunction()
