// Goal: on gfx942 each function of the Gpu is the instruction that it names, in every kernel.
// Method: read the compiler's listing kernel by kernel; every rule holds for every kernel, and each
// rule rejects a kernel that was compiled, by the same command, with the instruction wrong.

#include "tests/kernels/assembly/gfx942_rules.h"
#include "tests/kernels/assembly/rules_test.h"
#include "tests/support/skip.h"

namespace tally::kernels::assembly {
namespace {

const std::string kMissing = TALLY_MISSING;

constexpr NamedRule kRules[] = {
    {"moves_whole_words", gfx942::moves_whole_words},
    {"moves_whole_packets", gfx942::moves_whole_packets},
    {"packets_need_no_order", gfx942::packets_need_no_order},
    {"releases_in_every_thread", gfx942::releases_in_every_thread},
    {"stores_flags_with_release", gfx942::stores_flags_with_release},
    {"loads_flags_with_acquire", gfx942::loads_flags_with_acquire},
    {"loads_no_data_as_scalars", gfx942::loads_no_data_as_scalars},
    {"converts_in_hardware_where_it_can", gfx942::converts_in_hardware_where_it_can},
    {"shuffles_where_due", gfx942::shuffles_where_due},
    {"divides_as_ieee", gfx942::divides_as_ieee},
    {"fuses_only_in_divisions", gfx942::fuses_only_in_divisions},
};

constexpr Rejected kRejected[] = {
    {"::NarrowLoads>", "moves_whole_words"},
    {"::HalfLoads>", "moves_whole_words"},
    {"::NarrowStores>", "moves_whole_words"},
    {"::NarrowPackets>", "moves_whole_packets"},
    {"::NarrowPacketLoads>", "moves_whole_packets"},
    {"::AgentPackets>", "moves_whole_packets"},
    {"::PlainPackets>", "moves_whole_packets"},
    {"::ReleasedPackets>", "packets_need_no_order"},
    {"::AcquiredPackets>", "packets_need_no_order"},
    {"::BarrierBeforePackets>", "packets_need_no_order"},
    {"::NoFence>", "releases_in_every_thread"},
    {"::AgentFence>", "releases_in_every_thread"},
    {"::RelaxedFlag>", "stores_flags_with_release"},
    {"::AgentFlag>", "stores_flags_with_release"},
    {"::MissingAcquire>", "loads_flags_with_acquire"},
    {"::AgentAcquire>", "loads_flags_with_acquire"},
    {"::ScalarLoads>", "loads_no_data_as_scalars"},
    {"::ScalarLoadsWithPackets>", "loads_no_data_as_scalars"},
    {"::HardwareWhereSoftwareIsDue>", "converts_in_hardware_where_it_can"},
    {"::SoftwareWhereHardwareIsDue>", "converts_in_hardware_where_it_can"},
    {"::NarrowInRing>", "moves_whole_words"},
    {"::NarrowInBlocks>", "moves_whole_words"},
    {"::NoShuffles>", "shuffles_where_due"},
    {"::ReciprocalBlocks>", "divides_as_ieee"},
    {"::DividingSum,", "divides_as_ieee"},
    {"::FusedElement, tally::kernels::Sum,", "fuses_only_in_divisions"},
    {"::FusedElement, tally::kernels::Average,", "fuses_only_in_divisions"},
    {"::JoinedProduct>", "fuses_only_in_divisions"},
};

}  // namespace

TEST_CASE("gfx942: every recipe is compiled, in every algorithm", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  require_all_recipes(read_gfx942(read_file(TALLY_LISTING)));
}

TEST_CASE("gfx942: every kernel keeps every rule", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  const std::vector<Kernel> kernels = read_gfx942(read_file(TALLY_LISTING));
  require_rules_hold(kernels, kRules);
  for (const Kernel& kernel : kernels) {
    INFO(describe(kernel));
    CHECK(gfx942::sets_the_mode(kernel) == "");
    if (kernel.stack_bytes > 0) WARN(describe(kernel) << ": bytes of stack " << kernel.stack_bytes);
  }
}

TEST_CASE("gfx942: every rule rejects a kernel that breaks it", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  require_rules_reject(read_gfx942(read_file(TALLY_REJECTED_LISTING)), kRules, kRejected);
}

TEST_CASE("gfx942: a kernel that flushes subnormals or saturates is rejected", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  const Kernel kernel = read_gfx942(read_file(TALLY_LISTING)).at(0);
  for (std::size_t i = 0; i < kernel.directives.size(); ++i) {
    const bool sets_mode = contains(kernel.directives[i], "_mode_32 ") ||
                           contains(kernel.directives[i], "_mode_16_64 ") ||
                           contains(kernel.directives[i], "_fp16_overflow ");
    Kernel changed = kernel;
    changed.directives[i].back() = '1';
    CAPTURE(changed.directives[i]);
    CHECK((gfx942::sets_the_mode(changed) != "") == sets_mode);
  }
}

}  // namespace tally::kernels::assembly
