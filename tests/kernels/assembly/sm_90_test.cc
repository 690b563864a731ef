// Goal: on sm_90 each function of the Gpu is the instruction that it names, in every kernel.
// Method: read nvcc's PTX kernel by kernel; every rule holds for every kernel, and each rule
// rejects a kernel that was compiled, by the same command, with the instruction wrong.

#include "tests/kernels/assembly/rules_test.h"
#include "tests/kernels/assembly/sm_90_rules.h"
#include "tests/support/skip.h"

namespace tally::kernels::assembly {
namespace {

const std::string kMissing = TALLY_MISSING;

constexpr NamedRule kRules[] = {
    {"moves_whole_words", sm_90::moves_whole_words},
    {"moves_whole_packets", sm_90::moves_whole_packets},
    {"packets_need_no_order", sm_90::packets_need_no_order},
    {"signals_behind_a_barrier", sm_90::signals_behind_a_barrier},
    {"stores_flags_with_release", sm_90::stores_flags_with_release},
    {"loads_flags_with_acquire", sm_90::loads_flags_with_acquire},
    {"converts_in_hardware_where_it_can", sm_90::converts_in_hardware_where_it_can},
    {"shuffles_where_due", sm_90::shuffles_where_due},
    {"divides_as_ieee", sm_90::divides_as_ieee},
    {"fuses_nothing", sm_90::fuses_nothing},
    {"rounds_as_ieee", sm_90::rounds_as_ieee},
};

constexpr Rejected kRejected[] = {
    {"::NarrowLoads>", "moves_whole_words"},
    {"::NarrowStores>", "moves_whole_words"},
    {"::ReadOnlyLoads>", "moves_whole_words"},
    {"::NarrowPackets>", "moves_whole_packets"},
    {"::NarrowPacketLoads>", "moves_whole_packets"},
    {"::DevicePackets>", "moves_whole_packets"},
    {"::PlainPackets>", "moves_whole_packets"},
    {"::FencedPackets>", "packets_need_no_order"},
    {"::BarrierBeforePackets>", "packets_need_no_order"},
    {"::NoBarrier>", "signals_behind_a_barrier"},
    {"::StoreBeforeFlag>", "signals_behind_a_barrier"},
    {"::RelaxedFlag>", "stores_flags_with_release"},
    {"::DeviceFlag>", "stores_flags_with_release"},
    {"::MissingAcquire>", "loads_flags_with_acquire"},
    {"::DeviceAcquire>", "loads_flags_with_acquire"},
    {"::HardwareWhereSoftwareIsDue>", "converts_in_hardware_where_it_can"},
    {"::SoftwareWhereHardwareIsDue>", "converts_in_hardware_where_it_can"},
    {"::NarrowInRing>", "moves_whole_words"},
    {"::NarrowInBlocks>", "moves_whole_words"},
    {"::NoShuffles>", "shuffles_where_due"},
    {"::ReciprocalBlocks>", "divides_as_ieee"},
    {"::DividingSum,", "divides_as_ieee"},
    {"::FusedElement,", "fuses_nothing"},
    {"::FlushingElement,", "rounds_as_ieee"},
};

}  // namespace

TEST_CASE("sm_90: every recipe is compiled, in every algorithm", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  require_all_recipes(read_ptx(read_file(TALLY_LISTING)));
}

TEST_CASE("sm_90: every kernel keeps every rule", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  const std::vector<Kernel> kernels = read_ptx(read_file(TALLY_LISTING));
  require_rules_hold(kernels, kRules);
  for (const Kernel& kernel : kernels) {
    if (kernel.stack_bytes > 0) WARN(describe(kernel) << ": bytes of stack " << kernel.stack_bytes);
  }
}

TEST_CASE("sm_90: every rule rejects a kernel that breaks it", "[kernels]") {
  if (!kMissing.empty()) return tally::test::skip_case(kMissing);
  require_rules_reject(read_ptx(read_file(TALLY_REJECTED_LISTING)), kRules, kRejected);
}

}  // namespace tally::kernels::assembly
