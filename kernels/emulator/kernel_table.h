#pragma once

// The kernels that the emulator can launch, by what they compute.

#include <functional>
#include <span>
#include <string_view>

#include "kernels/emulator/session.h"
#include "model/collective.h"

namespace tally::kernels::emulator {

/// A fault that can be planted in a kernel.
struct PlantedFault {
  std::string_view name;
  /// arithmetic: values; movement: which elements go where; order: what flags and barriers order;
  /// flags: whether all see them, and take their values alike; bounds: what is touched.
  std::string_view kind;
  std::string_view what;    // what the kernel does wrong
  std::string_view report;  // the public report it stands for, or where it was read
};
std::span<const PlantedFault> planted_faults();

/// The kernel of one rank, with its arguments.
using Binder = std::function<Kernel(const Session&, const Call&, int rank)>;
/// Appends the call to the stream of every rank.
using Launcher = std::function<void(Emulator&, const Session&, const Call&)>;

struct KernelKey {
  std::string_view algorithm;
  model::Arithmetic arithmetic;
  std::string_view fault;  // empty: a healthy kernel
  model::Collective collective = model::Collective::all_reduce;
};

/// Both empty where there is no such kernel.
Binder find_binder(const KernelKey& key);
Launcher find_kernel(const KernelKey& key);

/// Whether kernels with this arithmetic can be launched so: the threads that share a block of the
/// wire have to be whole groups of a wave.
bool can_launch(const model::Arithmetic& arithmetic, const Geometry& geometry);

}  // namespace tally::kernels::emulator
