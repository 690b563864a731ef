#include "kernels/comm/comm.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "model/partition.h"

namespace tally::comm {
namespace {

using model::Collective;

struct Extent {
  const std::byte *begin, *end;
};

bool overlap(const Extent& a, const Extent& b) {
  const std::less<const std::byte*> before;
  return before(a.begin, b.end) && before(b.begin, a.end);
}

}  // namespace

ReduceOp make_premul_sum(double factor) {
  return {model::Op::premul_sum, static_cast<float>(factor)};
}

Communicator::Communicator(std::string backend_name, std::string name, const World& world,
                           Capacity capacity, std::unique_ptr<Chooser> chooser,
                           std::unique_ptr<Backend> backend)
    : backend_name_(std::move(backend_name)),
      name_(std::move(name)),
      world_(world),
      capacity_(capacity),
      chooser_(std::move(chooser)),
      backend_(std::move(backend)) {}

model::Error Communicator::error(std::string what, std::string hint) const {
  return {"communicator '" + name_ + "'", std::move(what), std::move(hint)};
}

std::optional<model::Error> Communicator::cannot_issue() const {
  if (!backend_) return error("it was finalized", "a new one is made by new_comm()");
  if (const auto failure = backend_->failure()) {
    return error("the communicator is broken: " + failure->what, failure->hint);
  }
  return std::nullopt;
}

Communicator::Issued Communicator::all_reduce(Tensor& tensor, const ReduceOp& op, bool async_op) {
  const Request request{Collective::all_reduce, tensor.count, tensor.dtype, op.op, op.factor};
  if (const auto wrong = wrong_pair(tensor, tensor, request)) return *wrong;
  return issue(request, {tensor.data, tensor.data, nullptr, nullptr}, async_op);
}

Communicator::Issued Communicator::reduce_scatter_single(Tensor& output, const Tensor& input,
                                                         const ReduceOp& op, bool async_op) {
  const Request request{Collective::reduce_scatter, output.count, output.dtype, op.op, op.factor};
  if (const auto wrong = wrong_pair(output, input, request)) return *wrong;
  return issue(request, {input.data, output.data, nullptr, nullptr}, async_op);
}

Communicator::Issued Communicator::all_gather_single(Tensor& output, const Tensor& input,
                                                     bool async_op) {
  const Request request{Collective::all_gather, input.count, input.dtype};
  if (const auto wrong = wrong_pair(output, input, request)) return *wrong;
  return issue(request, {input.data, output.data, nullptr, nullptr}, async_op);
}

Communicator::Issued Communicator::all_to_all_single(Tensor& output, const Tensor& input,
                                                     bool async_op) {
  if (input.count % get_size() != 0) {
    return error("all_to_all: " + std::to_string(input.count) + " elements are no equal blocks",
                 "a multiple of " + std::to_string(get_size()));
  }
  const Request request{Collective::all_to_all, input.count / get_size(), input.dtype};
  if (const auto wrong = wrong_pair(output, input, request)) return *wrong;
  return issue(request, {input.data, output.data, nullptr, nullptr}, async_op);
}

Communicator::Issued Communicator::all_to_all_v_single(Tensor& output, const Tensor& input,
                                                       const std::int64_t* send_counts,
                                                       std::int64_t* received_counts,
                                                       std::int64_t bound, bool async_op) {
  const Request request{Collective::all_to_all_v, bound, input.dtype};
  if (const auto wrong = wrong_pair(output, input, request)) return *wrong;
  if (send_counts == nullptr || received_counts == nullptr) {
    return error("all_to_all_v: no counts", "arrays of a count for each rank");
  }
  return issue(request, {input.data, output.data, send_counts, received_counts}, async_op);
}

Communicator::Issued Communicator::barrier(bool async_op) {
  if (const auto wrong = cannot_issue()) return *wrong;
  Tensor tensor{backend_->barrier_memory(), 1, model::Format::f32};
  return all_reduce(tensor, ReduceOp::SUM, async_op);
}

std::optional<model::Error> Communicator::wrong_pair(const Tensor& output, const Tensor& input,
                                                     const Request& request) const {
  const std::string name(model::name(request.collective));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kernels::kMaxRanks / 8;
  if (request.count < 0 || request.count > kMost) {
    return error(name + ": a count of " + std::to_string(request.count), "0 or more elements");
  }
  if (!(output.dtype == input.dtype)) {
    return error(name + ": the output is " + std::string(output.dtype.name()) + ", the input " +
                     std::string(input.dtype.name()),
                 "both of one type");
  }
  const std::int64_t in = model::input_elements(request.collective, get_size(), request.count);
  const std::int64_t out = model::output_elements(request.collective, get_size(), request.count);
  const bool may_be_longer = request.collective == Collective::all_to_all_v;
  if (may_be_longer ? input.count < in || output.count < out
                    : input.count != in || output.count != out) {
    return error(name + ": an input of " + std::to_string(input.count) +
                     " elements and an output of " + std::to_string(output.count),
                 std::to_string(in) + " and " + std::to_string(out) + " elements");
  }
  if ((in > 0 && input.data == nullptr) || (out > 0 && output.data == nullptr)) {
    return error(name + ": a tensor without memory", "data is not null");
  }
  const int bytes = request.dtype.bytes();
  const auto* from = static_cast<const std::byte*>(input.data);
  const auto* to = static_cast<const std::byte*>(output.data);
  if (!overlap({from, from + in * bytes}, {to, to + out * bytes})) return std::nullopt;
  const std::int64_t offset =
      model::in_place_offset(request.collective, get_rank(), request.count) * bytes;
  const bool is_in_place = in >= out ? to == from + offset : from == to + offset;
  if (is_in_place && !may_be_longer) return std::nullopt;
  return error(name + ": input and output overlap",
               may_be_longer ? "it is never in place" : "in place, one begins at the rank's block");
}

std::int64_t Communicator::piece_length(const model::Arithmetic& arithmetic) const {
  const std::int64_t unit = get_size() * arithmetic.wire.unit();
  return capacity_.message_bytes / arithmetic.element.bytes() / unit * unit;
}

Communicator::Issued Communicator::issue(const Request& request, const kernels::RankCall& buffers,
                                         bool async_op) {
  if (const auto wrong = cannot_issue()) return *wrong;
  const auto execution = chooser_->choose(request, get_size());
  if (!execution) return execution.error();
  Issue call{request.collective, execution->algorithm, execution->arithmetic,
             request.count,      execution->grid,      buffers};
  const std::int64_t bytes =
      message_bytes(request.collective, request.dtype, get_size(), request.count);
  const bool is_cut = bytes > capacity_.message_bytes;
  if (is_cut && request.collective != Collective::all_reduce) {
    return error(std::string(model::name(request.collective)) + ": a message of " +
                     std::to_string(bytes) + " bytes is longer than " +
                     std::to_string(capacity_.message_bytes),
                 "Options::max_message_bytes");
  }
  std::vector<std::shared_ptr<Work>> parts;
  const std::int64_t length = is_cut ? piece_length(call.arithmetic) : request.count;
  std::int64_t begin = 0;
  do {
    call.count = std::min(length, request.count - begin);
    const std::int64_t offset = begin * request.dtype.bytes();
    call.buffers.input = static_cast<const std::byte*>(buffers.input) + offset;
    call.buffers.output = static_cast<std::byte*>(buffers.output) + offset;
    auto work = backend_->issue(call);
    if (!work) return work.error();
    parts.push_back(std::move(*work));
    begin += call.count;
  } while (begin < request.count);

  auto work = work_of(std::move(parts));
  if (!async_op) {
    if (auto failed = work->wait()) return *failed;
    return work;
  }
  std::erase_if(pending_, [](const auto& one) { return one->is_completed(); });
  pending_.push_back(work);
  return work;
}

std::optional<model::Error> Communicator::finalize() {
  std::optional<model::Error> first;
  for (const auto& work : pending_) {
    auto failed = work->wait();
    if (!first) first = std::move(failed);
  }
  pending_.clear();
  backend_.reset();
  return first;
}

}  // namespace tally::comm
