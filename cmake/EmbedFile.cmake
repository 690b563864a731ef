# cmake -D INPUT=file -D OUTPUT=file.cc -D HEADER=room/x.h -D NAME=kText -D NAMESPACE=a::b -P ...:
# a source file that defines the string_view NAME, which HEADER declares, with the text of INPUT.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n
const std::string_view ${NAMESPACE}::${NAME} = R\"embedded(${text})embedded\";\n")
