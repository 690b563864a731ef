// Whatever the text, a replay line that is accepted is one that a failure could have printed.

#include "model/check.h"
#include "verify/case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto c = tally::verify::parse_case(text);
  if (!c) return 0;
  const auto again = tally::verify::parse_case(c->text());
  TALLY_CHECK(again && again->text() == c->text(), "a case that is not its text");
  return 0;
}
