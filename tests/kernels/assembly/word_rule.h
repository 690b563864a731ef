#pragma once

// The rule on the width of accesses, which is the same on every device but for names.

#include "tests/kernels/assembly/listing.h"

namespace tally::kernels::assembly {

/// The first letters of a device's operations.
struct Operations {
  std::string_view barrier, load, store, whole_load, whole_store;
  std::string_view pointer_load;  // what may fetch an argument; empty where that has its own name
};

/// Where peers' and own scratch is loaded and stored, each access is of 16 bytes. A meeting of the
/// ranks is two block barriers with the flags between. So flat has four, and tree six; before the
/// first only scratch is stored; after the second, scratch is loaded and, in tree, stored; after
/// the fourth, in tree, it is loaded. Where elements are loaded or stored, narrow accesses are
/// allowed.
std::string moves_whole_words(const Kernel&, const Operations&);

}  // namespace tally::kernels::assembly
