// Goal: the emulator's arithmetic is what the source says: the host compiler fused nothing.
// Method: disassemble its library and look for fused multiply-adds; a file with one is rejected.

#include <string>

#include "tests/support/catch.h"
#include "tests/support/child_process.h"
#include "tests/support/skip.h"

namespace tally::kernels::assembly {
namespace {

const std::string kMissing = TALLY_MISSING;

/// The lines of `file`'s disassembly that match; `grep` is what to search with.
std::string lines_with(const std::string& grep, const std::string& file) {
  return test::run_command(TALLY_OBJDUMP " -d --no-show-raw-insn '" + file + "' | " + grep).output;
}

/// The first instruction that fuses; empty where there is none. x86 and Arm name them so.
std::string fused(const std::string& file) {
  REQUIRE(lines_with("grep -m1 -w ret", file) != "");  // there is code, and it was read
  return lines_with("grep -m1 -wE 'vfn?m(add|sub|addsub|subadd)[0-9a-z]*|fn?m(add|sub)|fml[as]'",
                    file);
}

}  // namespace

TEST_CASE("the emulator's code fuses no multiplication with an addition", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  REQUIRE(fused(TALLY_KERNELS_LIBRARY) == "");
}

TEST_CASE("code that fuses a multiplication with an addition is rejected", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  REQUIRE(fused(TALLY_REJECTED_OBJECT) != "");
}

}  // namespace tally::kernels::assembly
