// Goal: the kernels, run by the emulator, have the properties that every all-reduce has by
// definition, whatever the reference says.
// Method: the properties of the reference's tests, with the emulator as their subject; and planted
// faults that they have to reject.

#include <rapidcheck.h>

#include "tests/support/catch.h"
#include "tests/verify/subject_properties.h"

namespace tally::verify {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using test::CollectiveProperty;

/// Whether cases drawn with a fixed seed all have the property.
bool holds(const Subject& subject, const CollectiveProperty& property, const std::string& fault) {
  rc::detail::TestParams params;
  params.seed = 1;
  params.disableShrinking = true;
  const Arithmetic a{Format::bf16, model::kNoWire, model::Op::sum, Accumulate::element};
  const auto check = [&] {
    const auto c = test::any_property_case({"flat"}, {a}, 3);
    RC_ASSERT(property.violation(test::property_subject(subject, fault), c) == "");
  };
  const auto result = rc::detail::checkTestable(check, rc::detail::TestMetadata(), params);
  return result.is<rc::detail::SuccessResult>();
}

}  // namespace

TEST_CASE("the kernels' all-reduce", "[verify]") { test::require_properties(*emulator_subject()); }

TEST_CASE("faults in kernels break properties", "[verify]") {
  const std::pair<const char*, std::string_view> kRejected[] = {
      {"stale_scratch", "what a call left"},
      {"tail_dropped", "begin alike"},
      {"rank_doubled", "the order of the ranks"},
      {"output_not_written", "zeros sum"},
  };
  const auto subject = emulator_subject();
  const Arithmetic a{Format::bf16, model::kNoWire, model::Op::sum, Accumulate::element};
  for (const auto& [fault, part] : kRejected) {
    INFO(fault);
    REQUIRE(test::has_kernel(*subject, "flat", a, fault));
    for (const CollectiveProperty& property : test::collective_properties()) {
      if (property.claim.find(part) == std::string_view::npos) continue;
      CHECK_FALSE(holds(*subject, property, fault));
    }
  }
}

}  // namespace tally::verify
