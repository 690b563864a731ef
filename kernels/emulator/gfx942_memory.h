#pragma once

// The caches of MI300X (gfx942), as far as they can show a thread something old: an L1 for each
// workgroup, an L2 for each XCD, home memory, and stores and loads that are under way. See
// docs/memory_model.md for what is modelled, what is stronger and what weaker than hardware.

#include "kernels/emulator/memory_model.h"

namespace tally::kernels::emulator {

/// What a machine, a compiler or a runtime may do differently. The default is one MI300X each, and
/// what LLVM's memory model promises.
struct Gfx942 {
  int xcds = 8;  // of a GPU: 8 in SPX mode, 1 in CPX; block b runs on XCD b % xcds
  /// Whether a release of one wave covers what other waves of its workgroup stored before a block
  /// barrier, as LLVM's in-order L1 makes it. Without, as with compilers before LLVM pull request
  /// 178316, whose wait after a write-back may be missing, it covers the own wave's stores only.
  bool release_covers_workgroup = true;
  /// The largest packet that one store writes, and one load reads, undivided.
  std::uint32_t atomic_bytes = 8;
  /// Whether the end of a kernel writes back what it cached of peers' memory, too.
  bool kernel_end_reaches_peers = true;
  /// Whether the beginning of a kernel drops what L2s hold of peers' memory, as an acquire of agent
  /// scope within a kernel does. HIP's runtime says that only system scope reaches L2s (ROCm clr,
  /// rocvirtual.cpp).
  bool kernel_begin_reaches_l2 = true;
};

std::unique_ptr<MemoryModel> gfx942_memory(Memory& memory, MemoryListener& listener,
                                           Choices& choices, const Gfx942& options);

}  // namespace tally::kernels::emulator
