// Whatever the arguments, the command line of `tally sim` is options or an error with a hint.

#include "cli/sim_options.h"
#include "model/check.h"
#include "verify/names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto options = tally::cli::parse_sim(tally::verify::split(text, '\n'));
  TALLY_CHECK(options || !options.error().hint.empty(), "a silent error");
  return 0;
}
