# Device code, as custom commands: CMake's HIP language needs files that Debian does not install,
# and its CUDA language would end the configuration where there is no nvcc. Where a tool is absent,
# TALLY_NO_GFX942 or TALLY_NO_SM_90 says which, and tests say it when they are skipped.

# AMD: ROCm where it is installed, with its own compiler; else Debian's clang and HIP.
set(TALLY_ROCM /opt/rocm CACHE PATH "where ROCm is looked for")
set(is_rocm OFF)
if(EXISTS ${TALLY_ROCM}/llvm/bin/clang++ AND EXISTS ${TALLY_ROCM}/include/hip/hip_runtime.h)
  set(is_rocm ON)
  find_program(TALLY_HIP_CLANG clang++ PATHS ${TALLY_ROCM}/llvm/bin NO_DEFAULT_PATH)
endif()
find_program(TALLY_HIP_CLANG NAMES clang++-19 clang++-20 clang++-21)
get_filename_component(llvm "${TALLY_HIP_CLANG}" REALPATH)
get_filename_component(llvm "${llvm}" DIRECTORY)
find_program(TALLY_HIP_BUNDLER clang-offload-bundler PATHS ${llvm} NO_DEFAULT_PATH)
find_program(TALLY_LLD NAMES ld.lld PATHS ${llvm} NO_DEFAULT_PATH)
find_program(TALLY_LLD NAMES ld.lld-19 ld.lld-20 ld.lld-21 ld.lld)
find_path(TALLY_HIP_INCLUDE hip/hip_runtime.h HINTS ${TALLY_ROCM}/include)
find_library(TALLY_HIP_RUNTIME amdhip64 HINTS ${TALLY_ROCM}/lib)
find_path(TALLY_HIP_BITCODE ockl.bc HINTS ${TALLY_ROCM}/amdgcn/bitcode PATH_SUFFIXES
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
tally_missing(TALLY_NO_GFX942 HIP_CLANG HIP_INCLUDE HIP_BITCODE HIP_BUNDLER HIP_RUNTIME LLD)
tally_missing(TALLY_NO_SM_90 NVCC CUDA_RUNTIME)
if(NOT TALLY_NO_SM_90)
  execute_process(COMMAND ${TALLY_NVCC} --version OUTPUT_VARIABLE nvcc_version)
  if(nvcc_version MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_LESS 12.8)
    set(TALLY_NO_SM_90 "nvcc ${CMAKE_MATCH_1} is older than 12.8")
  endif()
endif()

# What AMD's kernels are compiled for: gfx950 too, where the compiler knows it and has its library.
set(TALLY_GFX942_ARCHITECTURES gfx942)
if(is_rocm AND NOT TALLY_NO_GFX942)
  execute_process(COMMAND ${TALLY_HIP_CLANG} --target=amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib
    -x c -c /dev/null -o /dev/null RESULT_VARIABLE is_unknown OUTPUT_QUIET ERROR_QUIET)
  if(is_unknown EQUAL 0)
    list(APPEND TALLY_GFX942_ARCHITECTURES gfx950)
  endif()
endif()

# The arithmetic that tally_flags freezes on hosts, frozen here. nvcc has its own words for it.
string(REPLACE ";" "," architectures "${TALLY_GFX942_ARCHITECTURES}")
set(TALLY_GFX942_FLAGS -x hip --offload-arch=${architectures} -std=c++20 -O3 -ffp-contract=off
  -Wall -Wextra -D__HIP_PLATFORM_AMD__ -DTALLY_GFX_ARCHITECTURES="${architectures}"
  -I${PROJECT_SOURCE_DIR})
if(is_rocm)
  list(APPEND TALLY_GFX942_FLAGS --rocm-path=${TALLY_ROCM}
    --rocm-device-lib-path=${TALLY_HIP_BITCODE})
else()
  list(APPEND TALLY_GFX942_FLAGS --rocm-path=/usr
    --rocm-device-lib-path=${PROJECT_BINARY_DIR}/gfx942_bitcode)
endif()
set(TALLY_SM_90_FLAGS -std=c++20 -arch=sm_90 -O3 --fmad=false --ftz=false --prec-div=true
  --expt-relaxed-constexpr -Werror=all-warnings -I${PROJECT_SOURCE_DIR})
if(TALLY_HIP_BITCODE AND NOT is_rocm)
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

# tally_device_object(object assembly DEVICE gfx942|sm_90 SOURCE file): compiles one source. Names
# the object and, for tests, the assembly that the same compilation had; empty where tools are
# absent.
function(tally_device_object object_variable assembly_variable)
  cmake_parse_arguments(arg "" "DEVICE;SOURCE" "" ${ARGN})
  set(${object_variable} "" PARENT_SCOPE)
  set(${assembly_variable} "" PARENT_SCOPE)
  string(TOUPPER ${arg_DEVICE} device)
  if(TALLY_NO_${device})
    return()
  endif()
  get_filename_component(stem ${arg_SOURCE} NAME_WE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${stem}.${arg_DEVICE})
  file(MAKE_DIRECTORY ${folder})
  set(object ${folder}/${stem}.o)
  set(gfx942_compiler ${TALLY_HIP_CLANG})
  set(gfx942_keep -save-temps=obj)
  set(gfx942_assembly ${folder}/${stem}-hip-amdgcn-amd-amdhsa-gfx942.s)
  set(sm_90_compiler ${TALLY_NVCC})
  set(sm_90_keep --keep --keep-dir ${folder})
  set(sm_90_assembly ${folder}/${stem}.ptx)
  set(keep "")
  if(BUILD_TESTING)
    set(keep ${${arg_DEVICE}_keep})
    set(byproducts BYPRODUCTS ${${arg_DEVICE}_assembly})
    set(${assembly_variable} ${${arg_DEVICE}_assembly} PARENT_SCOPE)
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
  add_custom_command(OUTPUT ${object} ${byproducts} DEPENDS ${source} DEPFILE ${object}.d
    COMMAND ${${arg_DEVICE}_compiler} ${keep} ${TALLY_${device}_FLAGS} -MD -MF ${object}.d
      -c ${source} -o ${object}
    COMMENT "Compiling ${arg_SOURCE} for ${arg_DEVICE}" VERBATIM)
  set(${object_variable} ${object} PARENT_SCOPE)
endfunction()

# tally_gpu_library(device SOURCES ... LIBRARIES ...): the library tally_gpu_<device>, of kernels
# and their runtime. Its property TALLY_ASSEMBLY lists what they became, for tests.
function(tally_gpu_library device)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  set(objects "")
  set(listings "")
  foreach(source ${arg_SOURCES})
    tally_device_object(object assembly DEVICE ${device} SOURCE ${source})
    list(APPEND objects ${object})
    list(APPEND listings ${assembly})
  endforeach()
  if(NOT objects)
    return()
  endif()
  add_library(tally_gpu_${device} STATIC EXCLUDE_FROM_ALL ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_target_properties(tally_gpu_${device} PROPERTIES LINKER_LANGUAGE CXX
    TALLY_ASSEMBLY "${listings}")
  target_link_libraries(tally_gpu_${device} PUBLIC tally_model ${arg_LIBRARIES})
endfunction()

# tally_choose_gpu(): the library tally_gpu, which TALLY_GPU chooses: auto is sm_90 where nvcc is
# installed, else gfx942 where ROCm is, else none.
set(TALLY_GPU auto CACHE STRING "the GPU that tally has kernels for")
set_property(CACHE TALLY_GPU PROPERTY STRINGS auto none sm_90 gfx942)
function(tally_choose_gpu)
  set(chosen ${TALLY_GPU})
  if(chosen STREQUAL auto)
    set(chosen none)
    if(TARGET tally_gpu_sm_90)
      set(chosen sm_90)
    elseif(TARGET tally_gpu_gfx942 AND is_rocm)
      set(chosen gfx942)
    endif()
  endif()
  if(NOT TARGET tally_gpu_${chosen})
    message(FATAL_ERROR
      "TALLY_GPU=${chosen}, which is auto, none, sm_90 or gfx942, cannot be built. "
      "${TALLY_NO_SM_90} ${TALLY_NO_GFX942}")
  endif()
  message(STATUS "tally's GPU: ${chosen}")
  add_library(tally_gpu INTERFACE)
  target_link_libraries(tally_gpu INTERFACE tally_gpu_${chosen})
endfunction()
