#pragma once

// The machines that are known by name. Their files are compiled in, so that the program needs none.

#include <span>
#include <string_view>

#include "model/machine_file.h"

namespace tally::model {

struct PresetText {
  std::string_view name, text;
};

/// The files of model/machines, in the order of its list in model/CMakeLists.txt.
std::span<const PresetText> preset_texts();

/// Null where there is none of that name.
const MachineFile* find_preset(std::string_view name);

}  // namespace tally::model
