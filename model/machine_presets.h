#pragma once

// The machines that are known by name. Their files are compiled in, so that the program needs none.

#include <span>
#include <string_view>

#include "model/embedded_text.h"
#include "model/machine_file.h"

namespace tally::model {

/// The files of model/machines, in the order of its list in model/CMakeLists.txt.
std::span<const EmbeddedText> preset_texts();

/// Null where there is none of that name.
const MachineFile* find_preset(std::string_view name);

}  // namespace tally::model
