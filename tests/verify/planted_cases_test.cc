// Goal: every fault that can be planted is caught by the cases that are named for it.
// Method: the case is run with the fault, and must fail for the stated reason; and without, and
// must hold.

#include "verify/planted_cases.h"

#include <set>

#include "kernels/emulator/kernel_table.h"
#include "tests/support/catch.h"
#include "verify/exhibit.h"

namespace {
using namespace tally;
}

TEST_CASE("every planted fault is caught where its case says, and the healthy kernel holds",
          "[verify]") {
  const auto subject = verify::emulator_subject();
  std::set<std::string> kernels_with_faults;
  for (const auto& fault : kernels::emulator::planted_faults()) {
    INFO(fault.name);
    int cases = 0;
    for (const verify::PlantedCase& planted : verify::planted_cases()) {
      if (planted.fault != fault.name) continue;
      ++cases;
      auto c = verify::parse_case(std::string(planted.case_text));
      REQUIRE(c);
      REQUIRE(c->fault == fault.name);
      REQUIRE(
          kernels_with_faults.insert(c->fault + std::string(model::name(c->collective))).second);
      const verify::Detection caught = verify::detect(*c, *subject);
      INFO(caught.reason);
      CHECK(verify::name(caught.caught_by) == verify::name(planted.caught_by));
      CHECK(caught.reason.find(planted.how) != std::string::npos);
      c->fault.clear();
      const verify::Detection clean = verify::detect(*c, *subject);
      CHECK(clean.caught_by == verify::Detector::none);
      CHECK(clean.interleavings == c->interleavings);
    }
    CHECK(cases >= 1);
  }
}
