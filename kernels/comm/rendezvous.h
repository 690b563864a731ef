#pragma once

// An all-gather of bytes among the ranks of one communicator, for what they have to agree on.

#include <memory>

#include "kernels/comm/frame.h"
#include "kernels/comm/room.h"
#include "kernels/comm/world.h"

namespace tally::comm {

/// One rank's place at it; of one thread.
class Rendezvous {
 public:
  /// Leaves: a round that others begin later is an error there.
  virtual ~Rendezvous() = default;

  /// What each rank gave, in rank order. Waits for all until the timeout of the first to arrive.
  /// An error names who did not arrive or has left; all others learn it too, and from then on it
  /// is the answer to every call. At most kMostContributionBytes.
  virtual model::Result<std::vector<Bytes>> all_gather(Bytes mine) = 0;
};

/// How a rank joins. All ranks of one communicator give the same name, size and address.
struct Joining {
  std::string name;  // 1 to 255 printable characters
  World world;
  Milliseconds timeout{600'000};
};

/// Processes: rank 0 listens, the others connect, again and again until the timeout. Returns when
/// all are there.
model::Result<std::unique_ptr<Rendezvous>> join_over_tcp(const Joining& joining);

/// Threads of this process, by name. Returns when all are there.
model::Result<std::unique_ptr<Rendezvous>> join_in_process(const Joining& joining);

}  // namespace tally::comm
