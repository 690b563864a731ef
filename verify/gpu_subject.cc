#include "verify/gpu_subject.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "kernels/hardware/gpu_session.h"
#include "kernels/scratch_size.h"
#include "model/check.h"
#include "verify/device_buffers.h"

namespace tally::verify {
namespace {

using namespace kernels::hardware;

/// What all of a case's calls need.
SessionOptions needs(const Case& c) {
  SessionOptions all{0, 0, c.launch.blocks, c.launch.threads};
  for (const std::int64_t count : c.counts) {
    const std::size_t scratch = kernels::scratch_bytes(c.collective, c.arithmetic, c.ranks, count);
    const std::size_t packets = kernels::packet_bytes(c.algorithm, c.arithmetic, c.ranks, count);
    all.scratch_bytes = std::max(all.scratch_bytes, scratch);
    all.packet_bytes = std::max(all.packet_bytes, packets);
  }
  return all;
}

bool covers(const SessionOptions& a, const SessionOptions& b) {
  return a.scratch_bytes >= b.scratch_bytes && a.packet_bytes >= b.packet_bytes &&
         a.max_blocks >= b.max_blocks && a.max_threads >= b.max_threads;
}

/// Enough for both, and for what is a little larger.
SessionOptions larger(const SessionOptions& a, const SessionOptions& b) {
  return {std::bit_ceil(std::max(a.scratch_bytes, b.scratch_bytes)),
          std::bit_ceil(std::max(a.packet_bytes, b.packet_bytes)),
          std::max(a.max_blocks, b.max_blocks), std::max(a.max_threads, b.max_threads)};
}

KernelName kernel(const Case& c) { return {c.collective, c.algorithm, c.arithmetic}; }

class GpuSubject : public Subject {
 public:
  GpuSubject(GpuRuntime& runtime, std::vector<int> devices)
      : runtime_(runtime), devices_(std::move(devices)) {
    const int count = static_cast<int>(runtime_.devices().size());
    if (devices_.empty()) {
      for (int device = 0; device < count; ++device) devices_.push_back(device);
    }
    TALLY_CHECK(!devices_.empty(), "the kernels run on GPUs");
    for (const int device : devices_) {
      TALLY_CHECK(device >= 0 && device < count, "there is such a device");
      runtime_.use(device);
      streams_[device] = runtime_.create_stream();
    }
  }

  ~GpuSubject() override {
    sessions_.clear();
    for (const auto& [device, stream] : streams_) {
      runtime_.use(device);
      buffers_.erase(device);
      runtime_.destroy(stream);
    }
  }

  std::optional<std::string> cannot_run(const Case& c) const override {
    if (!c.fault.empty()) return "faults are planted in the emulator's kernels";
    if (finds_races(c)) return "interleavings and memory models are the emulator's";
    for (const Share& share : shares(c)) {
      if (auto why = cannot_launch(runtime_, share, kernel(c), c.launch.blocks, c.launch.threads)) {
        return why;
      }
    }
    return std::nullopt;
  }

  std::string description() const override { return verify::description(runtime_, devices_); }

  Observation run(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                  const Run&) const override {
    const std::lock_guard lock(mutex_);
    Observation seen = unwritten(c);
    GpuSession* const session = session_for(c, seen);
    if (session == nullptr || !prepare(*session, c)) {
      seen.broken.push_back("the case does not fit into a GPU's memory");
      return seen;
    }
    for_ranks(*session, [&](int share, int rank) {
      buffers(*session, share, rank).upload(inputs, stream(*session, share));
    });
    c.graph ? replay(*session, c) : call(*session, c);
    for_ranks(*session, [&](int share, int rank) {
      buffers(*session, share, rank).download(stream(*session, share));
    });
    for_shares(*session, [&](int share) { runtime_.synchronize(stream(*session, share)); });
    for_ranks(*session,
              [&](int share, int rank) { buffers(*session, share, rank).collect(inputs, seen); });
    if (const auto lost = session->lost()) {
      seen.hang.push_back(lost->text());
      sessions_.erase(c.ranks);
    }
    return seen;
  }

 private:
  std::vector<Share> shares(const Case& c) const {
    std::vector<Share> all = share_out(c.ranks, static_cast<int>(devices_.size()));
    for (Share& share : all) share.device = devices_[share.device];
    return all;
  }

  /// Null where there is no memory for it; `seen` then says so.
  GpuSession* session_for(const Case& c, Observation& seen) const {
    auto& session = sessions_[c.ranks];
    SessionOptions options = needs(c);
    if (session && covers(session->options(), options)) return session.get();
    options = larger(options, session ? session->options() : SessionOptions{});
    session.reset();  // so that there is room
    auto created = GpuSession::create(runtime_, alone_, shares(c), options);
    if (created) {
      session = std::move(*created);
    } else {
      seen.broken.push_back(created.error().what);
    }
    return session.get();
  }

  bool prepare(const GpuSession& session, const Case& c) const {
    bool fits = true;
    for_ranks(session, [&](int share, int rank) {
      fits = buffers(session, share, rank).prepare(c, session.shares()[share].first_rank + rank) &&
             fits;
    });
    return fits;
  }

  /// Puts a call of `count` into the share's stream, on the buffers of number `at`.
  void launch(GpuSession& session, int share, const Case& c, std::int64_t count, int at) const {
    std::vector<kernels::RankCall> calls;
    for (int rank = 0; rank < session.shares()[share].ranks; ++rank) {
      const DeviceBuffers& b = buffers(session, share, rank);
      calls.push_back({b.input(at), b.output(at), b.send_counts(at), b.received_counts(at)});
    }
    session.launch(share, stream(session, share),
                   {kernel(c), c.launch.blocks, c.launch.threads, count,
                    model::premultiplier(c.arithmetic, c.ranks), calls, c.launch.rounds});
  }

  /// The calls one after another, with nothing between them.
  void call(GpuSession& session, const Case& c) const {
    for (int i = 0; i < static_cast<int>(c.counts.size()); ++i) {
      for_shares(session, [&](int share) { launch(session, share, c, c.counts[i], i); });
    }
  }

  /// One call, captured and replayed: what each replay finds is copied there before, and what it
  /// leaves is copied away after it.
  void replay(GpuSession& session, const Case& c) const {
    std::vector<Graph> graphs;
    for_shares(session, [&](int share) {
      runtime_.begin_capture(stream(session, share));
      launch(session, share, c, c.counts.at(0), buffers(session, share, 0).captured());
      graphs.push_back(runtime_.end_capture(stream(session, share)));
    });
    for (int i = 0; i < static_cast<int>(c.counts.size()); ++i) {
      for_shares(session, [&](int share) {
        const Stream on = stream(session, share);
        const int ranks = session.shares()[share].ranks;
        for (int rank = 0; rank < ranks; ++rank) buffers(session, share, rank).copy_in(i, on);
        runtime_.replay(graphs[share], on);
        for (int rank = 0; rank < ranks; ++rank) buffers(session, share, rank).copy_out(i, on);
      });
    }
    for_shares(session, [&](int share) {
      runtime_.synchronize(stream(session, share));
      runtime_.destroy(graphs[share]);
    });
  }

  template <class Action>
  void for_shares(const GpuSession& session, Action action) const {
    for (int share = 0; share < static_cast<int>(session.shares().size()); ++share) {
      runtime_.use(session.shares()[share].device);
      action(share);
    }
  }
  /// action(share, rank of the share)
  template <class Action>
  void for_ranks(const GpuSession& session, Action action) const {
    for_shares(session, [&](int share) {
      for (int rank = 0; rank < session.shares()[share].ranks; ++rank) action(share, rank);
    });
  }

  Stream stream(const GpuSession& session, int share) const {
    return streams_.at(session.shares()[share].device);
  }
  DeviceBuffers& buffers(const GpuSession& session, int share, int rank) const {
    auto& of_device = buffers_[session.shares()[share].device];
    while (static_cast<int>(of_device.size()) <= rank) {
      of_device.push_back(std::make_unique<DeviceBuffers>(runtime_));
    }
    return *of_device[rank];
  }

  GpuRuntime& runtime_;
  std::vector<int> devices_;
  std::map<int, Stream> streams_;  // by device
  mutable std::mutex mutex_;       // of what follows, and of the GPUs
  mutable NoExchange alone_;
  mutable std::map<int, std::unique_ptr<GpuSession>> sessions_;                 // by ranks
  mutable std::map<int, std::vector<std::unique_ptr<DeviceBuffers>>> buffers_;  // by device
};

}  // namespace

std::unique_ptr<Subject> gpu_subject(GpuRuntime& runtime, std::vector<int> devices) {
  return std::make_unique<GpuSubject>(runtime, std::move(devices));
}

}  // namespace tally::verify
