# cmake -D OUTPUT=x.cc -D HEADER=room/x.h -D NAMESPACE=a::b -D FUNCTION=f -D FILES="file;..." -P:
# the source of `std::span<const model::EmbeddedText> f()`, which HEADER declares: the files' names,
# without folder and extension, and their texts.
set(delimiter TALLY_TEXT)
set(text_type tally::model::EmbeddedText)
set(source "#include \"${HEADER}\"\n\n")
string(APPEND source "std::span<const ${text_type}> ${NAMESPACE}::${FUNCTION}() {
  static constexpr ${text_type} kTexts[] = {\n")
foreach(file ${FILES})
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME_WE)
  string(FIND "${text}" ")${delimiter}\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} cannot be embedded")
  endif()
  string(APPEND source "      {\"${name}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}  };\n  return kTexts;\n}\n")
