#pragma once

// The rule on the width of accesses, which is the same on every device but for names.

#include "tests/kernels/assembly/listing.h"

namespace tally::kernels::assembly {

/// A word of codes is so many packets, which a thread stores and loads one by one.
inline constexpr int kPacketsOfWord = 4;

/// The first letters of a device's operations.
struct Operations {
  std::string_view barrier, load, store, whole_load, whole_store;
  std::string_view pointer_load;  // what may fetch an argument; empty where that has its own name
  std::string_view three_load;    // of 12 bytes; empty where there is none
};

/// Where scratch is loaded and stored, each access is of 16 bytes; but a block wire's scales are
/// loaded and stored one by one, in each of their three sizes, and the counts of all_to_all_v are.
/// Where elements are loaded or stored, narrow accesses are allowed. Between which block barriers
/// only scratch is moved: a meeting of the ranks is two of them with the flags between. Flat
/// algorithms work in rounds: the first is staged before barrier 1, each other one before barrier
/// 2, which ends the signal of its own; scratch is read after barrier 3, and two more end the call.
/// all_to_all_v has no rounds, and two meetings; tree and ring have three. In tree scratch is
/// stored again after the first and loaded again after the second. In the ring, which works on
/// both at once, it is counted that there are whole accesses: three loads of scratch, three stores
/// to it and three of Stuck; beside them four loads of elements, of which clang may fetch the last
/// by itself.
std::string moves_whole_words(const Kernel&, const Operations&);

}  // namespace tally::kernels::assembly
