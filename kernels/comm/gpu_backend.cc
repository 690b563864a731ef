#include "kernels/comm/gpu_backend.h"

#include <algorithm>

#include "kernels/hardware/gpu_session.h"

namespace tally::comm {
namespace {

namespace hardware = kernels::hardware;

/// What a round at the rendezvous is for. Ranks that are at different things lose each other: one
/// that leaves meets others that compare a call.
enum class Topic : std::uint8_t { session, call, lost };

/// The rounds of one communicator.
class Rounds : public hardware::Exchange {
 public:
  Rounds(std::string name, std::unique_ptr<Rendezvous> rendezvous)
      : name_(std::move(name)), rendezvous_(std::move(rendezvous)) {}

  /// For a session: nothing where somebody was lost.
  std::vector<Bytes> all_gather(Bytes mine) override {
    auto all = about(Topic::session, std::move(mine));
    return all ? *std::move(all) : std::vector<Bytes>();
  }
  model::Result<std::vector<Bytes>> about(Topic topic, Bytes mine) {
    mine.push_back(static_cast<std::byte>(topic));
    auto all = rendezvous_->all_gather(std::move(mine));
    if (!all) return all.error();
    std::vector<int> gone;
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      Bytes& one = (*all)[rank];
      const bool is_with_us = !one.empty() && one.back() == static_cast<std::byte>(topic);
      if (!is_with_us) gone.push_back(static_cast<int>(rank));
      if (!one.empty()) one.pop_back();
    }
    if (!gone.empty()) return has_left(name_, gone);
    return all;
  }

 private:
  const std::string name_;
  const std::unique_ptr<Rendezvous> rendezvous_;
};

/// A rank's part of a communicator on GPUs. Works hold it too, and outlive what it launches with.
class GpuRank {
 public:
  GpuRank(const GpuOptions& options, int rank, int ranks, std::unique_ptr<Rendezvous> rendezvous,
          hardware::GpuRuntime& runtime)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        rounds_(options.name, std::move(rendezvous)),
        runtime_(runtime) {}
  ~GpuRank() { close(); }

  /// What all have to do together: each says first whether it can.
  std::optional<model::Error> open() {
    hardware::SessionOptions session;
    session.scratch_bytes = options_.capacity.scratch_bytes(ranks_);
    session.packet_bytes = options_.capacity.packet_bytes(ranks_);
    session.max_blocks = options_.max_blocks;
    auto made =
        hardware::GpuSession::create(runtime_, rounds_, {{options_.device, rank_, 1}}, session);
    if (!made) return made.error();
    session_ = std::move(*made);
    runtime_.use(options_.device);
    owns_stream_ = options_.stream == nullptr;
    stream_ = owns_stream_ ? runtime_.create_stream() : options_.stream;
    barrier_memory_ = runtime_.allocate(sizeof(float));
    return std::nullopt;
  }

  /// Behind what is in the stream. Leaves together with the others.
  void close() {
    if (!session_) return;
    runtime_.use(options_.device);
    runtime_.synchronize(stream_);
    session_->lost();
    runtime_.free(barrier_memory_);
    if (owns_stream_) runtime_.destroy(stream_);
    session_.reset();
    if (!failure_) failure_ = error("the communicator has ended", "");
  }

  /// Nothing where it was launched.
  std::optional<model::Error> launch(const Issue& issue) {
    if (options_.check_calls) {
      if (auto differs = compare(issue)) return differs;
    }
    const auto given = [](int ours, int otherwise) { return ours > 0 ? ours : otherwise; };
    hardware::GroupCall call;
    call.kernel = {issue.collective, issue.algorithm, issue.arithmetic};
    call.blocks = given(issue.grid.blocks, options_.grid.blocks);
    call.threads = given(issue.grid.threads, options_.grid.threads);
    call.rounds = given(issue.grid.rounds, options_.grid.rounds);
    call.count = issue.count;
    call.factor = model::premultiplier(issue.arithmetic, ranks_);
    call.ranks = {&issue.buffers, 1};
    // Nobody has anything to do, but where counts above a bound of 0 have to be found.
    if (issue.count == 0 && issue.collective != model::Collective::all_to_all_v) {
      return std::nullopt;
    }
    if (const auto reason = session_->cannot_launch(0, call)) {
      return error(issue.text() + " cannot be launched: " + *reason,
                   "Options::algorithms, or the hints 'blocks' and 'threads'");
    }
    session_->launch(0, stream_, call);
    return std::nullopt;
  }

  hardware::Event record() {
    runtime_.use(options_.device);
    const hardware::Event event = runtime_.create_event();
    runtime_.record(event, stream_);
    return event;
  }

  /// Until the event; an error where somebody was lost by then.
  std::optional<model::Error> wait(hardware::Event event, const Issue& issue) {
    if (!session_) return failure_;
    runtime_.use(options_.device);
    runtime_.synchronize(event);
    if (!failure_) find_lost();
    if (failure_) return failure_;
    if (issue.collective != model::Collective::all_to_all_v) return std::nullopt;
    std::vector<std::int64_t> received(ranks_);
    runtime_.copy(received.data(), issue.buffers.received_counts,
                  received.size() * sizeof(std::int64_t), stream_);
    runtime_.synchronize(stream_);
    return beyond_bound(options_.name, received.data(), ranks_, issue.count);
  }
  /// Whether all that was launched has ended.
  bool is_idle() {
    if (!session_) return true;
    runtime_.use(options_.device);
    return runtime_.is_idle(stream_);
  }
  void destroy(hardware::Event event) { runtime_.destroy(event); }

  const std::optional<model::Error>& failure() const { return failure_; }
  void* barrier_memory() const { return barrier_memory_; }

 private:
  /// A kernel that gave up knows whom it waited for; the rendezvous knows who has left, or does not
  /// answer. Everybody comes here, since a call needs all ranks.
  void find_lost() {
    const auto lost = session_->lost();
    if (!lost) return;
    const auto all = rounds_.about(Topic::lost, {});
    failure_ =
        error(lost->text() + (all ? "" : ": " + all.error().what),
              all ? "all ranks are alive: one made other calls, or came late" : all.error().hint);
  }

  std::optional<model::Error> compare(const Issue& issue) {
    Bytes mine;
    for (const char c : issue.text()) mine.push_back(static_cast<std::byte>(c));
    const auto all = rounds_.about(Topic::call, std::move(mine));
    if (!all) return failure_ = all.error();
    const auto text = [&](int rank) {
      std::string text;
      for (const std::byte b : (*all)[rank]) text += static_cast<char>(b);
      return text;
    };
    for (int rank = 1; rank < ranks_; ++rank) {
      if (text(rank) == text(0)) continue;
      return differing_calls(options_.name, text(0), rank, text(rank));
    }
    return std::nullopt;
  }

  model::Error error(std::string what, std::string hint) const {
    return {"communicator '" + options_.name + "'", std::move(what), std::move(hint)};
  }

  const GpuOptions options_;
  const int rank_, ranks_;
  Rounds rounds_;
  hardware::GpuRuntime& runtime_;
  std::unique_ptr<hardware::GpuSession> session_;  // null before open() and after close()
  hardware::Stream stream_ = nullptr;
  bool owns_stream_ = false;
  void* barrier_memory_ = nullptr;
  std::optional<model::Error> failure_;
};

class GpuWork : public Work {
 public:
  GpuWork(std::shared_ptr<GpuRank> rank, const Issue& issue)
      : rank_(std::move(rank)), issue_(issue), event_(rank_->record()) {}
  ~GpuWork() override { rank_->destroy(event_); }

  std::optional<model::Error> wait() override {
    if (!has_ended_) error_ = rank_->wait(event_, issue_);
    has_ended_ = true;
    return error_;
  }
  Status status() override {
    if (!has_ended_ && !rank_->is_idle()) return Status::INPROGRESS;
    return wait() ? Status::ERROR : Status::COMPLETED;
  }

 private:
  const std::shared_ptr<GpuRank> rank_;
  const Issue issue_;
  const hardware::Event event_;
  bool has_ended_ = false;
  std::optional<model::Error> error_;
};

class GpuBackend : public Backend {
 public:
  explicit GpuBackend(std::shared_ptr<GpuRank> rank) : rank_(std::move(rank)) {}
  ~GpuBackend() override { rank_->close(); }

  model::Result<std::shared_ptr<Work>> issue(const Issue& issue) override {
    if (rank_->failure()) return *rank_->failure();
    if (auto failed = rank_->launch(issue)) return *failed;
    return std::shared_ptr<Work>(std::make_shared<GpuWork>(rank_, issue));
  }
  std::optional<model::Error> failure() override { return rank_->failure(); }
  void* barrier_memory() override { return rank_->barrier_memory(); }

 private:
  const std::shared_ptr<GpuRank> rank_;
};

}  // namespace

std::optional<model::Error> gpu_unavailable(int device) {
  const hardware::GpuRuntime* const runtime = hardware::linked_gpu_runtime();
  if (runtime == nullptr) {
    return model::Error{"device", "this program was built without kernels for a GPU",
                        "TALLY_GPU of CMake"};
  }
  const int devices = static_cast<int>(runtime->devices().size());
  if (devices == 0) return model::Error{"device", "there is no GPU: " + runtime->unavailable(), ""};
  if (device >= 0 && device < devices) return std::nullopt;
  return model::Error{"device", "there is no GPU " + std::to_string(device),
                      "0 to " + std::to_string(devices - 1)};
}

model::Result<std::unique_ptr<Backend>> gpu_backend(const GpuOptions& options, int rank, int ranks,
                                                    std::unique_ptr<Rendezvous> rendezvous) {
  TALLY_CHECK(!gpu_unavailable(options.device), "a communicator on a GPU that is not there");
  auto of_rank = std::make_shared<GpuRank>(options, rank, ranks, std::move(rendezvous),
                                           *hardware::linked_gpu_runtime());
  if (const auto failed = of_rank->open()) return *failed;
  return std::unique_ptr<Backend>(std::make_unique<GpuBackend>(std::move(of_rank)));
}

}  // namespace tally::comm
