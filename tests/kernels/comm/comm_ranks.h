#pragma once

// Communicators whose ranks are threads of a test, and what the reference has for their calls.

#include "kernels/comm/comm.h"
#include "reference/run.h"

namespace tally::comm {

constexpr int kBlocks = 2;  // of the emulator's launches

/// What a communicator is asked in a test.
struct Case {
  Request request;
  int ranks = 1;
  Options options;
  std::string backend = "emulator";
};

model::Result<std::shared_ptr<Communicator>> join(const Case& c, int rank);

/// Drawn inputs of every rank.
reference::RankBuffers inputs_of(const Case& c);

/// The call of a request, on its tensors; it has ended.
Communicator::Issued call(Communicator& comm, const Request& request, Tensor& output,
                          const Tensor& input);
/// The same on host memory; `out` becomes what it leaves.
Communicator::Issued issue(Communicator& comm, const Case& c, std::vector<std::byte>& in,
                           std::vector<std::byte>& out);

/// The outputs of every rank, from one call; nothing where something went wrong.
reference::RankBuffers outputs_of(const Case& c, const reference::RankBuffers& inputs);

/// The reference's, for an algorithm and an arithmetic.
reference::RankBuffers expected(const Case& c, std::string_view algorithm,
                                const model::Arithmetic& arithmetic,
                                const reference::RankBuffers& inputs);

}  // namespace tally::comm
