# The three kinds of target: a room's library, a test program, a fuzz target.

# Arithmetic is frozen: no fused multiply-add that the source does not ask for, no fast-math.
add_library(tally_flags INTERFACE)
# g++ 12 warns falsely of overlapping strings (its bug 105651), and under ASan of uninitialised
# ones.
target_compile_options(tally_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wconversion
  -Wno-sign-conversion $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${TALLY_WERROR}>:-Werror>)
target_include_directories(tally_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(TALLY_SANITIZE)
  target_compile_options(tally_flags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tally_flags INTERFACE -fsanitize=address,undefined)
endif()

if(TALLY_FUZZ)  # the libraries are instrumented too, or the fuzzer would be blind in them
  target_compile_options(tally_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tally_library(room SOURCES ... DEPENDS ...): the library tally_<room>.
function(tally_library room)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tally_${room} STATIC ${arg_SOURCES})
  target_link_libraries(tally_${room} PUBLIC tally_flags ${arg_DEPENDS})
endfunction()

# They run longest among the tests without a label, and most so under sanitizers.
set(TALLY_LONG_TESTS cli_test reference_provenance_test sequences_test study_test verify_test)

# tally_test(name SOURCES ... DEPENDS ... LABELS ... TIMEOUT seconds): a Catch2 program and its
# CTest entry. Exit status 77 is a skip that says why.
function(tally_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tally_test_support ${arg_DEPENDS})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
  if(arg_LABELS OR name IN_LIST TALLY_LONG_TESTS)  # or the last of them would run alone
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(arg_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# tally_skipped_test(name LABELS ... REASON text): a CTest entry that says why it does not run.
function(tally_skipped_test name)
  cmake_parse_arguments(arg "" "REASON" "LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND sh -c "echo 'skipped: ${arg_REASON}'; exit 77")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
endfunction()

# tally_fuzz(name SOURCES ... DEPENDS ...): a libFuzzer target; configure with clang.
function(tally_fuzz name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
endfunction()

# tally_embed(function HEADER room/x.h NAMESPACE a::b FILES ...): sets the variable of that name to
# a generated source, which defines `std::span<const model::EmbeddedText> function()`, as HEADER
# declares it, with the texts of the files in their order.
function(tally_embed function)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake)
  add_custom_command(OUTPUT ${output} DEPENDS ${arg_FILES} ${script}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D HEADER=${arg_HEADER}
      -D NAMESPACE=${arg_NAMESPACE} -D FUNCTION=${function} -D "FILES=${arg_FILES}" -P ${script}
    VERBATIM)
  set(${function} ${output} PARENT_SCOPE)
endfunction()
