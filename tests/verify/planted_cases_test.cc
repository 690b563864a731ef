// Goal: every fault that can be planted is caught by the case that is named for it.
// Method: the case is run with the fault, and must fail for the stated reason; and without, and
// must hold.

#include "verify/planted_cases.h"

#include "kernels/emulator/kernel_table.h"
#include "tests/support/catch.h"
#include "verify/campaign.h"

namespace {
using namespace tally;
}

TEST_CASE("every planted fault is caught where its case says, and the healthy kernel holds",
          "[verify]") {
  const auto subject = verify::emulator_subject();
  for (const auto& fault : kernels::emulator::planted_faults()) {
    INFO(fault.name);
    int cases = 0;
    for (const verify::PlantedCase& planted : verify::planted_cases()) {
      if (planted.fault != fault.name) continue;
      ++cases;
      auto c = verify::parse_case(std::string(planted.case_text));
      REQUIRE(c);
      REQUIRE(c->fault == fault.name);
      const auto caught = verify::run_case(*c, *subject);
      INFO(caught.judgement.reason);
      CHECK(caught.judgement.verdict == verify::Verdict::mismatch);
      CHECK(caught.judgement.reason.find(planted.how) != std::string::npos);
      c->fault.clear();
      CHECK(verify::run_case(*c, *subject).judgement.verdict == verify::Verdict::ok);
    }
    CHECK(cases == 1);
  }
}
