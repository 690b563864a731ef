#pragma once

// What must hold of every kernel's PTX for sm_90. Orders and scopes: PTX ISA, section 8.

#include "tests/kernels/assembly/listing.h"

namespace tally::kernels::assembly::sm_90 {

/// Scratch is moved 16 bytes at a time (word_rule.h), no access needs to find out where it goes,
/// and none goes through the cache of read-only data (ld.global.nc), which no acquire drops.
std::string moves_whole_words(const Kernel&);
/// Packets are stored by st.relaxed.sys and loaded by ld.relaxed.sys, 8 bytes at a time, and
/// nothing else has an order.
std::string moves_whole_packets(const Kernel&);
/// Where there are packets there is no fence, and no barrier but the one behind all of them, after
/// which the block's epoch is stored.
std::string packets_need_no_order(const Kernel&);

// The next three are about flags, and hold where there are packets instead.

/// A flag is stored behind a block barrier, with no other access between: its release then covers
/// what every thread of the block did.
std::string signals_behind_a_barrier(const Kernel&);
/// Flags are stored by st.release.sys, and by nothing weaker.
std::string stores_flags_with_release(const Kernel&);
/// Flags are loaded by ld.acquire.sys, and by nothing weaker.
std::string loads_flags_with_acquire(const Kernel&);
/// The hardware converts where the wire is a format that sm_90 has, as far as it has it, and
/// nowhere else.
std::string converts_in_hardware_where_it_can(const Kernel&);
/// The threads of a group exchange values by shfl.sync where the wire has blocks, and nowhere else.
std::string shuffles_where_due(const Kernel&);
/// Where a division is due, and nowhere else, there is div.rn.f32; there is no reciprocal.
std::string divides_as_ieee(const Kernel&);
std::string fuses_nothing(const Kernel&);
/// No operation flushes subnormals or is approximate.
std::string rounds_as_ieee(const Kernel&);

}  // namespace tally::kernels::assembly::sm_90
