# cmake -D OUTPUT=... -D FOLDER=... -D NAMES=a,b -P: writes the source of preset_texts(), which has
# the text of FOLDER/NAME.json for each of the names.
string(REPLACE "," ";" NAMES "${NAMES}")
set(source "#include \"model/machine_presets.h\"\n\nnamespace tally::model {\n\n"
  "std::span<const PresetText> preset_texts() {\n  static constexpr PresetText kTexts[] = {\n")
string(CONCAT source ${source})
foreach(name ${NAMES})
  file(READ ${FOLDER}/${name}.json text)
  string(APPEND source "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
string(APPEND source "  };\n  return kTexts;\n}\n\n}  // namespace tally::model\n")
file(WRITE ${OUTPUT} "${source}")
