#pragma once

// What new_comm() is asked for.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/comm/chooser.h"
#include "kernels/comm/room.h"
#include "kernels/comm/world.h"

namespace tally::kernels::hardware {
struct StreamTag;
}

namespace tally::comm {

struct Device {
  /// A GPU that the emulator plays, or the one of that index.
  enum class Kind { virtual_gpu, gpu };
  Kind kind = Kind::virtual_gpu;
  int index = 0;
};

struct Options {
  /// Where it is not given, what `lookup` says of the launcher's variables.
  std::optional<World> world;
  /// The environment, for the launcher's and RCCLX's variables: main() passes one that calls
  /// getenv. Without it nothing is set.
  Lookup lookup = [](const std::string&) { return std::nullopt; };
  Milliseconds timeout{600'000};

  /// Room for staging, made when the communicator is: of the larger of a rank's input and output.
  /// A longer all_reduce is cut into pieces of a multiple of ranks * U elements, each a call by
  /// itself (U is 128, or the wire's block length if that is more), so that the bits of block wires
  /// depend on it as they do on any chunk. The other collectives' blocks are not cut, since a piece
  /// of each would lie apart in memory: a longer one is an error that names this option. Where it
  /// is not given: 1 MiB in the emulator, 64 MiB on GPUs.
  std::optional<std::int64_t> max_message_bytes;

  /// Of backends emulator and gpu: how contributions travel, where sums are rounded, and which
  /// algorithm a size gets. RCCLX decides all three itself.
  model::Wire wire = model::kNoWire;
  model::Accumulate accumulate = model::Accumulate::element;
  std::vector<AlgorithmRow> algorithms = default_algorithms();

  /// Of backend rcclx.
  model::rcclx::Arch arch = model::rcclx::Arch::gfx942;
  model::rcclx::Flavour flavour = model::rcclx::Flavour::oss;

  /// On GPUs: the ranks compare every call at the rendezvous before they launch it, so that calls
  /// which differ are an error at once and not a wait for a peer until the timeout. It costs a
  /// round over TCP for each call. The emulator always compares.
  bool check_calls = false;

  /// On GPUs: the stream (hipStream_t, cudaStream_t) of the calls. Where it is null the
  /// communicator has one of its own, and what writes the tensors has ended before a call.
  kernels::hardware::StreamTag* stream = nullptr;

  /// emulator: memory (strong, gfx942), seed, blocks, threads, rounds, wave. gpu: blocks, threads,
  /// rounds.
  std::map<std::string, std::string> hints;
};

}  // namespace tally::comm
