# cmake -D PROGRAM=... -P: copies beside a program what it needs to run on a machine that has no
# more than glibc and a GPU's driver.
get_filename_component(folder ${PROGRAM} DIRECTORY)
file(GLOB earlier ${folder}/*.so*)
if(earlier)  # or they would be found beside those that are to be copied
  file(REMOVE ${earlier})
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^(ld-linux|lib(c|m|dl|rt|pthread|cuda|amdhip64))[-.]")
file(COPY ${found} DESTINATION ${folder} FOLLOW_SYMLINK_CHAIN)
