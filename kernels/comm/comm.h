#pragma once

// Collectives among the ranks of a world, in the words of torchcomms (meta-pytorch/torchcomms,
// comms/torchcomms/TorchComm.hpp).
//
// All ranks make the same calls in the same order. What they have to agree on beside that (sizes of
// staging, algorithms, switches) they compare when the communicator is made; where a buffer lies
// decides nothing. A rank that is lost is an error that names it, on every other rank, within the
// timeout; after that every call fails with "the communicator is broken" and the same reason.

#include "kernels/comm/backend.h"
#include "kernels/comm/comm_options.h"

namespace tally::comm {

/// `count` elements that follow each other. Where `data` may point to is the backend's: memory of
/// the host for the emulator, of the rank's device for GPUs. Any alignment of the type will do.
struct Tensor {
  void* data = nullptr;
  std::int64_t count = 0;
  model::ElementType dtype = model::Format::f32;
};

/// BAND, BOR and BXOR are not there: no kernel here reduces integers.
struct ReduceOp {
  model::Op op = model::Op::sum;
  float factor = 1;
  static const ReduceOp SUM, PRODUCT, MIN, MAX, AVG;
};
inline constexpr ReduceOp ReduceOp::SUM{model::Op::sum};
inline constexpr ReduceOp ReduceOp::PRODUCT{model::Op::prod};
inline constexpr ReduceOp ReduceOp::MIN{model::Op::min};
inline constexpr ReduceOp ReduceOp::MAX{model::Op::max};
/// The sum, divided once. Of backend rcclx: contributions times 1 / ranks, as RCCL has it.
inline constexpr ReduceOp ReduceOp::AVG{model::Op::avg};
/// PREMUL_SUM: the sum of contributions that are multiplied first.
ReduceOp make_premul_sum(double factor);

class Communicator;
/// Meets the other ranks, which call this with the same backend, name and options.
///   emulator  virtual GPUs; the ranks are threads of this process
///   gpu       a process for each GPU
///   rcclx     either, by the device; under RCCLX's dispatch and with its arithmetic
model::Result<std::shared_ptr<Communicator>> new_comm(const std::string& backend,
                                                      const Device& device, const std::string& name,
                                                      const Options& options = {});

/// Of one thread.
class Communicator {
 public:
  using Issued = model::Result<std::shared_ptr<Work>>;

  int get_rank() const { return world_.rank; }
  int get_size() const { return world_.size; }
  const std::string& get_name() const { return name_; }
  const std::string& get_backend() const { return backend_name_; }

  // With async_op these return when the call is issued, else when it has ended. Buffers stay as
  // they are until then.

  /// In place.
  Issued all_reduce(Tensor& tensor, const ReduceOp& op, bool async_op);
  Issued allreduce(Tensor& tensor, const ReduceOp& op, bool async_op) {
    return all_reduce(tensor, op, async_op);
  }
  /// The input has a block as long as the output for each rank. In place where the output is the
  /// rank's own block.
  Issued reduce_scatter_single(Tensor& output, const Tensor& input, const ReduceOp& op,
                               bool async_op);
  /// The output has a block as long as the input for each rank. In place likewise.
  Issued all_gather_single(Tensor& output, const Tensor& input, bool async_op);
  /// Both have a block for each rank. In place where they are the same.
  Issued all_to_all_single(Tensor& output, const Tensor& input, bool async_op);
  /// Blocks as long as counts say, which lie [ranks] in the same memory as the tensors; each
  /// tensor has room for ranks * bound elements. received_counts is written. A count beyond the
  /// bound of any rank is an error on all, and no output is written. Never in place.
  Issued all_to_all_v_single(Tensor& output, const Tensor& input, const std::int64_t* send_counts,
                             std::int64_t* received_counts, std::int64_t bound, bool async_op);
  Issued barrier(bool async_op);

  /// Waits for what was issued and leaves; the first error of that. Nothing can be issued
  /// afterwards. A communicator that is destroyed without it leaves too, and waits for nothing.
  std::optional<model::Error> finalize();

 private:
  friend model::Result<std::shared_ptr<Communicator>> new_comm(const std::string&, const Device&,
                                                               const std::string&, const Options&);
  Communicator(std::string backend_name, std::string name, const World& world, Capacity capacity,
               std::unique_ptr<Chooser> chooser, std::unique_ptr<Backend> backend);

  model::Error error(std::string what, std::string hint) const;
  std::optional<model::Error> cannot_issue() const;
  std::optional<model::Error> wrong_pair(const Tensor& output, const Tensor& input,
                                         const Request& request) const;
  Issued issue(const Request& request, const kernels::RankCall& buffers, bool async_op);
  /// Elements of the pieces that an all_reduce is cut into.
  std::int64_t piece_length(const model::Arithmetic& arithmetic) const;

  const std::string backend_name_, name_;
  const World world_;
  const Capacity capacity_;
  const std::unique_ptr<Chooser> chooser_;
  std::unique_ptr<Backend> backend_;            // null once finalised
  std::vector<std::shared_ptr<Work>> pending_;  // issued, not known to have ended
};

}  // namespace tally::comm
