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
};

/// Where scratch is loaded and stored, each access is of 16 bytes; but a block wire's scales are
/// loaded and stored one by one, in each of their three sizes. A meeting of the ranks is two block
/// barriers with the flags between: flat has two of them, tree and ring three. In flat and tree
/// only scratch is stored before the first meeting; after it scratch is loaded and, in tree,
/// stored; after the second, in tree, it is loaded. Where elements are loaded or stored, narrow
/// accesses are allowed. So they are in all of the ring, which works on both at once: there it is
/// counted that there are whole accesses, three loads of scratch, three stores to it and three of
/// Stuck.
std::string moves_whole_words(const Kernel&, const Operations&);

}  // namespace tally::kernels::assembly
