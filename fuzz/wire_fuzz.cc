// Whatever the text, a wire that is accepted has the name it was given.

#include "model/check.h"
#include "model/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto wire = tally::model::parse_wire(text);
  TALLY_CHECK(!wire || wire->name() == text, "a wire under another name");
  return 0;
}
