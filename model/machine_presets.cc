#include "model/machine_presets.h"

#include <vector>

#include "model/check.h"

namespace tally::model {

const MachineFile* find_preset(std::string_view name) {
  static const std::vector<MachineFile> presets = [] {
    std::vector<MachineFile> all;
    for (const PresetText& preset : preset_texts()) {
      auto file = parse_machine_file(std::string(preset.name) + ".json", preset.text);
      TALLY_CHECK(file, (file.error().where + ": " + file.error().what).c_str());
      TALLY_CHECK(file->name == preset.name, "a preset with the name of another");
      all.push_back(std::move(*file));
    }
    return all;
  }();
  for (const MachineFile& preset : presets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace tally::model
