#pragma once

// What must hold of every kernel's code on gfx942. Orders and scopes: LLVM's "User Guide for AMDGPU
// Backend", Memory Model GFX942; the bits sc0 and sc1: AMD CDNA3 ISA, tables 48 to 51.

#include "tests/kernels/assembly/listing.h"

namespace tally::kernels::assembly::gfx942 {

/// Scratch is moved 16 bytes at a time (word_rule.h), and no access needs to find out where it
/// goes.
std::string moves_whole_words(const Kernel&);
/// A packet is stored and loaded 8 bytes at a time, past all caches, and nothing else is.
std::string moves_whole_packets(const Kernel&);
/// Where there are packets nothing waits for caches, nor for a barrier but the one behind all of
/// them, after which the block's epoch is stored.
std::string packets_need_no_order(const Kernel&);
// The next three are about flags, and hold where there are packets instead.

/// Before the block barrier that a flag's store follows, each thread writes back its L2 for all
/// the system and waits for that.
std::string releases_in_every_thread(const Kernel&);
/// A flag is stored past all caches, and a write-back for all the system stands before it.
std::string stores_flags_with_release(const Kernel&);
/// A flag is loaded past all caches; when it has come, L1 and what L2 holds of others is dropped.
std::string loads_flags_with_acquire(const Kernel&);
/// Behind the first load of a flag or packet only arguments come through the scalar cache, which no
/// acquire drops. Before it there is only what the rank had when the kernel started.
std::string loads_no_data_as_scalars(const Kernel&);
/// The hardware converts where the wire is a format that gfx942 has, and nowhere else.
std::string converts_in_hardware_where_it_can(const Kernel&);
/// The threads of a group exchange values by DS_BPERMUTE_B32 where the wire has blocks, and nowhere
/// else.
std::string shuffles_where_due(const Kernel&);
/// Where a division is due, and nowhere else, there are IEEE divisions; nothing else is made of an
/// approximate reciprocal.
std::string divides_as_ieee(const Kernel&);
/// Fused multiply-adds stand in divisions alone, five in each.
std::string fuses_only_in_divisions(const Kernel&);
/// Nearest-even, subnormals kept, conversions that do not saturate: as the kernel's descriptor
/// sets MODE.
std::string sets_the_mode(const Kernel&);

}  // namespace tally::kernels::assembly::gfx942
