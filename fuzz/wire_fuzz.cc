// Whatever the text, a wire that is accepted has one name, by which it is read again.

#include "model/check.h"
#include "model/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto wire = tally::model::parse_wire(text);
  if (!wire) return 0;
  const auto again = tally::model::parse_wire(wire->name());
  TALLY_CHECK(again && again->name() == wire->name(), "a wire that its name does not give");
  return 0;
}
