#include "tests/kernels/comm/comm_ranks.h"

#include "model/builders.h"
#include "reference/inputs.h"
#include "tests/kernels/comm/rank_threads.h"

namespace tally::comm {

using model::Collective;
using reference::RankBuffers;

model::Result<std::shared_ptr<Communicator>> join(const Case& c, int rank) {
  Options options = c.options;
  options.world = World{rank, c.ranks, rank, "", 0};
  options.hints.emplace("blocks", std::to_string(kBlocks));
  options.hints.emplace("threads", "64");
  return new_comm(c.backend, {Device::Kind::virtual_gpu, 0}, "test", options);
}

RankBuffers inputs_of(const Case& c) {
  RankBuffers inputs;
  const auto normal = *reference::open_input("normal");
  const std::int64_t count = model::input_elements(c.request.collective, c.ranks, c.request.count);
  for (int rank = 0; rank < c.ranks; ++rank) {
    inputs.push_back(reference::draw(normal, c.request.dtype, {7, 0, rank, count}));
  }
  return inputs;
}

Communicator::Issued call(Communicator& comm, const Request& request, Tensor& output,
                          const Tensor& input) {
  const ReduceOp op{request.op, request.factor};
  switch (request.collective) {
    case Collective::all_reduce:
      return comm.all_reduce(output, op, false);
    case Collective::reduce_scatter:
      return comm.reduce_scatter_single(output, input, op, false);
    case Collective::all_gather:
      return comm.all_gather_single(output, input, false);
    default:
      return comm.all_to_all_single(output, input, false);
  }
}

Communicator::Issued issue(Communicator& comm, const Case& c, std::vector<std::byte>& in,
                           std::vector<std::byte>& out) {
  const Request& r = c.request;
  const std::int64_t count = model::output_elements(r.collective, c.ranks, r.count);
  out.assign(static_cast<std::size_t>(count * r.dtype.bytes()), std::byte{0x5A});
  if (r.collective == Collective::all_reduce) out = in;
  const Tensor input{in.data(), static_cast<std::int64_t>(in.size()) / r.dtype.bytes(), r.dtype};
  Tensor output{out.data(), count, r.dtype};
  return call(comm, r, output, input);
}

RankBuffers outputs_of(const Case& c, const RankBuffers& inputs) {
  RankBuffers outputs(c.ranks);
  const auto said = on_threads(c.ranks, [&](int rank) -> std::string {
    const auto comm = join(c, rank);
    if (!comm) return comm.error().what;
    std::vector<std::byte> input = inputs[rank];
    const auto work = issue(**comm, c, input, outputs[rank]);
    return work && (*work)->is_completed() && input == inputs[rank] ? "" : "an error";
  });
  return said == std::vector<std::string>(c.ranks) ? outputs : RankBuffers();
}

RankBuffers expected(const Case& c, std::string_view algorithm, const model::Arithmetic& arithmetic,
                     const RankBuffers& inputs) {
  model::Shape shape;
  shape.ranks = c.ranks;
  shape.count = c.request.count;
  shape.lanes = kBlocks;
  shape.arithmetic = arithmetic;
  return reference::run(model::find_builder(c.request.collective, algorithm)->build(shape), inputs);
}

}  // namespace tally::comm
