#include "verify/nccl_subject.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "model/check.h"
#include "reference/convert.h"
#include "verify/device_buffers.h"

namespace tally::verify {
namespace {

namespace nccl = kernels::hardware::nccl;
using kernels::hardware::GpuRuntime;
using kernels::hardware::Graph;
using kernels::hardware::Stream;
using model::Collective;
using model::Format;
using model::Op;

/// Of operations that are built in.
nccl::RedOp built_in(Op op) {
  constexpr std::pair<Op, nccl::RedOp> kOps[] = {{Op::sum, nccl::kSum},
                                                 {Op::prod, nccl::kProd},
                                                 {Op::min, nccl::kMin},
                                                 {Op::max, nccl::kMax},
                                                 {Op::avg, nccl::kAvg}};
  for (const auto& [known, built] : kOps) {
    if (known == op) return built;
  }
  TALLY_CHECK(false, "an operation that NCCL has built in");
  return nccl::kSum;
}

double steady_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// The communicators of one number of ranks. Where `error` says why, there are none.
class Communicators {
 public:
  /// devices: [rank], of at least so many.
  Communicators(std::shared_ptr<const nccl::Api> library, int ranks,
                const std::vector<int>& devices)
      : library_(std::move(library)), comms_(ranks, nullptr) {
    check(f().CommInitAll(comms_.data(), ranks, devices.data()), "ncclCommInitAll", nullptr);
    if (error_) comms_.clear();
  }
  ~Communicators() {
    for (const nccl::Comm comm : comms_) f().CommDestroy(comm);
  }
  Communicators(const Communicators&) = delete;

  /// The first error that the library returned.
  const std::optional<std::string>& error() const { return error_; }

  /// What the library says of itself while nothing else is heard of it; nothing if all is well.
  std::string asynchronous_error(int rank) const {
    nccl::Outcome outcome = nccl::kSuccess;
    f().CommGetAsyncError(comms_[rank], &outcome);
    if (outcome == nccl::kSuccess || outcome == nccl::kInProgress) return "";
    return library_->describe(outcome, comms_[rank]);
  }

  /// Ends what was put into streams, and the communicators.
  void abort() {
    for (const nccl::Comm comm : comms_) f().CommAbort(comm);
    comms_.clear();
  }

  /// What a rank gives to a call.
  struct Part {
    int device;
    const void* input;
    void* output;
    Stream stream;
  };

  /// One call of the case on all ranks: parts [rank].
  void call(const Case& c, std::int64_t count, GpuRuntime& runtime,
            const std::vector<Part>& parts) {
    const bool creates = model::premultiplies(c.arithmetic.op);
    std::vector<nccl::RedOp> ops;
    for (const nccl::Comm comm : comms_) {
      ops.push_back(creates ? premultiplied_sum(c, comm) : built_in(c.arithmetic.op));
    }
    check(f().GroupStart(), "ncclGroupStart", nullptr);
    for (int rank = 0; rank < c.ranks; ++rank) {
      runtime.use(parts[rank].device);
      const auto& [device, input, output, stream] = parts[rank];
      const auto [outcome, function] = library_->enqueue(
          c.collective, c.arithmetic.element, ops[rank], static_cast<std::size_t>(count),
          {comms_[rank], c.ranks, input, output, stream});
      check(outcome, function, comms_[rank]);
    }
    check(f().GroupEnd(), "ncclGroupEnd", comms_[0]);
    // NCCL: an operation may go as soon as the last function that was given it has returned.
    for (int rank = 0; creates && rank < c.ranks; ++rank) {
      check(f().RedOpDestroy(ops[rank], comms_[rank]), "ncclRedOpDestroy", comms_[rank]);
    }
  }

 private:
  const nccl::Functions& f() const { return library_->functions(); }

  void check(nccl::Outcome outcome, const char* function, nccl::Comm comm) {
    if (outcome == nccl::kSuccess || outcome == nccl::kInProgress || error_) return;
    error_ = std::string(function) + ": " + library_->describe(outcome, comm);
  }

  nccl::RedOp premultiplied_sum(const Case& c, nccl::Comm comm) {
    std::uint32_t scalar =
        reference::encode(c.arithmetic.element, model::premultiplier(c.arithmetic, c.ranks),
                          model::Rounding::nearest_even, model::kAsFormat);
    nccl::RedOp op = nccl::kSum;
    check(f().RedOpCreatePreMulSum(&op, &scalar, nccl::data_type(c.arithmetic.element),
                                   nccl::kScalarHostImmediate, comm),
          "ncclRedOpCreatePreMulSum", comm);
    return op;
  }

  std::shared_ptr<const nccl::Api> library_;
  std::vector<nccl::Comm> comms_;  // [rank]
  std::optional<std::string> error_;
};

class NcclSubject : public Subject {
 public:
  NcclSubject(GpuRuntime& runtime, std::shared_ptr<const nccl::Api> library, NcclOptions options)
      : runtime_(runtime), library_(std::move(library)), options_(std::move(options)) {
    TALLY_CHECK(!runtime_.devices().empty(), "the library runs on GPUs");
    if (!options_.now) options_.now = steady_seconds;
    if (options_.devices.empty()) {
      options_.devices.resize(runtime_.devices().size());
      std::iota(options_.devices.begin(), options_.devices.end(), 0);
    }
    for (const int device : options_.devices) {
      runtime_.use(device);
      streams_.push_back(runtime_.create_stream());
      buffers_.push_back(std::make_unique<DeviceBuffers>(runtime_));
    }
  }

  ~NcclSubject() override {
    communicators_.clear();
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      runtime_.use(options_.devices[rank]);
      buffers_[rank].reset();
      runtime_.destroy(streams_[rank]);
    }
  }

  std::optional<std::string> cannot_run(const Case& c) const override {
    if (c.algorithm != kLibrarysChoice) return "the library chooses its algorithm: auto";
    if (!c.fault.empty()) return "faults are planted in our own kernels";
    if (finds_races(c)) return "interleavings and memory models are the emulator's";
    if (!c.arithmetic.wire.is_none()) return "the library has no wire: --wire none";
    if (c.arithmetic.accumulate != model::Accumulate::element) {
      return "the library chooses where it rounds: --accumulate element";
    }
    if (c.collective == Collective::all_to_all_v) return "NCCL has no all_to_all_v";
    if (c.collective == Collective::all_to_all && c.placement == Placement::in_place) {
      return "NCCL has no all_to_all in place";
    }
    const std::size_t gpus = streams_.size();  // of those that it may use
    if (c.ranks > static_cast<int>(gpus)) {
      return "NCCL takes one rank for each GPU: " + std::to_string(gpus) +
             (gpus == 1 ? " GPU here" : " GPUs here");
    }
    return std::nullopt;
  }

  bool fixes_order() const override { return false; }

  std::string description() const override {
    return verify::description(runtime_, options_.devices) + ", " + library_->library() + " " +
           library_->version();
  }

  Observation run(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                  const Run&) const override {
    const std::lock_guard lock(mutex_);
    Observation seen = unwritten(c);
    if (is_stuck_) {
      seen.hang.push_back("an earlier call has not ended, and keeps the GPUs");
      return seen;
    }
    auto& communicators = communicators_[c.ranks];
    if (!communicators)
      communicators = std::make_unique<Communicators>(library_, c.ranks, options_.devices);
    if (!communicators->error()) {
      bool fits = true;
      for_ranks(c, [&](int rank) { fits = buffers_[rank]->prepare(c, rank) && fits; });
      if (fits) {
        start(c, inputs, *communicators);
        finish(c, inputs, *communicators, seen);
      } else {
        seen.broken.push_back("the buffers do not fit into a GPU's memory");
      }
    }
    if (communicators->error()) seen.broken.push_back(*communicators->error());
    if (communicators->error() || !seen.hang.empty()) communicators.reset();
    return seen;
  }

 private:
  template <class Action>
  void for_ranks(const Case& c, Action action) const {
    for (int rank = 0; rank < c.ranks; ++rank) {
      runtime_.use(options_.devices[rank]);
      action(rank);
    }
  }

  /// Puts all calls, or the replays of one, into the streams.
  void start(const Case& c, const std::vector<reference::RankBuffers>& inputs,
             Communicators& communicators) const {
    for_ranks(c, [&](int rank) { buffers_[rank]->upload(inputs, streams_[rank]); });
    const auto call = [&](std::size_t number, std::int64_t count) {
      std::vector<Communicators::Part> parts;
      for_ranks(c, [&](int rank) {
        const auto i = static_cast<int>(number);
        parts.push_back({options_.devices[rank], buffers_[rank]->input(i),
                         buffers_[rank]->output(i), streams_[rank]});
      });
      communicators.call(c, count, runtime_, parts);
    };
    if (!c.graph) {
      for (std::size_t i = 0; i < c.counts.size(); ++i) call(i, c.counts[i]);
      return;
    }
    for_ranks(c, [&](int rank) { runtime_.begin_capture(streams_[rank]); });
    call(c.counts.size(), c.counts.at(0));
    for_ranks(c, [&](int rank) { graphs_.push_back(runtime_.end_capture(streams_[rank])); });
    for (int i = 0; i < static_cast<int>(c.counts.size()); ++i) {
      for_ranks(c, [&](int rank) {
        buffers_[rank]->copy_in(i, streams_[rank]);
        runtime_.replay(graphs_[rank], streams_[rank]);
        buffers_[rank]->copy_out(i, streams_[rank]);
      });
    }
  }

  /// Waits, and takes what is there. Where a call hangs or was refused, the communicators are
  /// aborted, so that no rank waits for what another does not do.
  void finish(const Case& c, const std::vector<reference::RankBuffers>& inputs,
              Communicators& communicators, Observation& seen) const {
    if (!communicators.error()) {
      for (const int rank : wait(c, &communicators)) {
        const std::string error = communicators.asynchronous_error(rank);
        seen.hang.push_back("rank " + std::to_string(rank) + " has not ended" +
                            (error.empty() ? " in time" : ": " + error));
      }
    }
    if (communicators.error() || !seen.hang.empty()) communicators.abort();
    is_stuck_ = !wait(c, nullptr).empty();
    if (is_stuck_) return;
    for_ranks(c, [&](int rank) {
      buffers_[rank]->download(streams_[rank]);
      runtime_.synchronize(streams_[rank]);
      buffers_[rank]->collect(inputs, seen);
      if (c.graph) runtime_.destroy(graphs_[rank]);
    });
    graphs_.clear();
  }

  /// The ranks that still have something to do when the time is over, or when one of
  /// `communicators` has an error, after which they may never end.
  std::vector<int> wait(const Case& c, const Communicators* communicators) const {
    const double end = options_.now() + options_.timeout_seconds;
    for (;;) {
      std::vector<int> busy;
      bool has_failed = false;
      for_ranks(c, [&](int rank) {
        if (runtime_.is_idle(streams_[rank])) return;
        busy.push_back(rank);
        if (communicators != nullptr && !communicators->asynchronous_error(rank).empty()) {
          has_failed = true;
        }
      });
      if (busy.empty() || has_failed || options_.now() >= end) return busy;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  GpuRuntime& runtime_;
  const std::shared_ptr<const nccl::Api> library_;
  NcclOptions options_;
  std::vector<Stream> streams_;                          // [rank]
  std::vector<std::unique_ptr<DeviceBuffers>> buffers_;  // [rank]
  mutable std::mutex mutex_;                             // of what follows, and of the GPUs
  mutable std::map<int, std::unique_ptr<Communicators>> communicators_;  // by ranks
  mutable std::vector<Graph> graphs_;                                    // [rank], of this run
  mutable bool is_stuck_ = false;
};

}  // namespace

std::unique_ptr<Subject> nccl_subject(GpuRuntime& runtime, std::shared_ptr<const nccl::Api> library,
                                      NcclOptions options) {
  return std::make_unique<NcclSubject>(runtime, std::move(library), std::move(options));
}

}  // namespace tally::verify
