// Whatever the bytes, a .npy file is a tensor of the shape that it says, or an error with a hint.

#include "model/check.h"
#include "reference/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto tensor = tally::reference::parse_npy("fuzz.npy", bytes);
  if (tensor) {
    TALLY_CHECK(std::ssize(tensor->values) == tensor->rows * tensor->columns, "shape and values");
  } else {
    TALLY_CHECK(!tensor.error().what.empty() && !tensor.error().hint.empty(), "a silent error");
  }
  return 0;
}
