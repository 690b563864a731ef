// Whatever bytes arrive, a frame that is accepted is within the limits and is written as it was
// read, and what cannot become one is refused at every later length too.

#include <algorithm>

#include "kernels/comm/frame.h"
#include "model/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::comm;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto whole = parse_frame(bytes);
  const bool half_is_refused = !parse_frame(bytes.first(size / 2));
  TALLY_CHECK(!half_is_refused || !whole, "a frame whose beginning is none");
  if (whole && whole->bytes > 0) {
    const Bytes again = encode(whole->frame);
    TALLY_CHECK(std::equal(again.begin(), again.end(), bytes.begin(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(whole->bytes)),
                "a frame that is not written as it was read");
  }
  const int ranks = size > 0 ? 1 + data[0] % kMostProcesses : 1;
  if (const auto all = parse_gathered(bytes, ranks)) {
    const Bytes again = encode_gathered(*all);
    TALLY_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
                "what was gathered is not written as it was read");
  }
  for (const std::string& line : {parse_failure(bytes).what, parse_failure(bytes).hint}) {
    for (const char c : line) TALLY_CHECK(c >= ' ' && c <= '~', "a failure that is not printable");
  }
  return 0;
}
