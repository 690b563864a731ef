#include "kernels/comm/rendezvous.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>

#include "kernels/comm/rendezvous_server.h"

namespace tally::comm {
namespace {

/// The server, which is rank 0's thread, names who is late; a rank waits this much longer for it.
constexpr Milliseconds kForTheServer{500};

Time now() { return std::chrono::steady_clock::now(); }

std::optional<model::Error> wrong_name(const std::string& name) {
  const bool is_printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && !name.empty() && name.size() <= kMostNameBytes) return std::nullopt;
  return model::Error{"the communicator's name", "it is not 1 to 255 printable characters", ""};
}

class TcpRendezvous : public Rendezvous {
 public:
  TcpRendezvous(const Joining& joining, std::shared_ptr<RendezvousServer> server, Socket socket)
      : joining_(joining), server_(std::move(server)), socket_(std::move(socket)) {}

  model::Result<std::vector<Bytes>> all_gather(Bytes mine) override {
    TALLY_CHECK(mine.size() <= kMostContributionBytes, "a contribution beyond its limit");
    if (failure_) return *failure_;
    auto gathered = round(std::move(mine));
    if (!gathered) failure_ = gathered.error();
    return gathered;
  }

 private:
  model::Result<std::vector<Bytes>> round(Bytes mine) {
    Frame frame;
    frame.name = joining_.name;
    frame.rank = joining_.world.rank;
    frame.size = joining_.world.size;
    frame.round = round_++;
    constexpr std::int64_t kMostTimeout = std::numeric_limits<std::uint32_t>::max();
    frame.timeout_ms = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(joining_.timeout.count(), 0, kMostTimeout));
    frame.payload = std::move(mine);
    const Bytes bytes = encode(frame);
    const Time deadline = now() + joining_.timeout + kForTheServer;
    std::span<const std::byte> left = bytes;
    Io io = Io::again;
    while ((io = send_some(socket_, left)) == Io::again) {
      if (!wait_writable(socket_, deadline)) return rank_0_is_silent();
    }
    // Where the connection has ended, what came before its end says why.
    return answer(deadline);
  }

  model::Result<std::vector<Bytes>> answer(Time deadline) {
    while (true) {
      auto parsed = parse_frame(received_);
      if (!parsed) return parsed.error();
      if (parsed->bytes > 0) {
        received_.erase(received_.begin(),
                        received_.begin() + static_cast<std::ptrdiff_t>(parsed->bytes));
        const Frame& frame = parsed->frame;
        if (frame.kind == FrameKind::gathered) {
          return parse_gathered(frame.payload, joining_.world.size);
        }
        return parse_failure(frame.payload);
      }
      const Io io = receive_some(socket_, received_);
      if (io == Io::closed) return has_left(joining_.name, {0});
      if (io == Io::again && !wait_readable(socket_, deadline)) return rank_0_is_silent();
    }
  }

  model::Error rank_0_is_silent() const {
    return did_not_arrive(joining_.name, {0}, joining_.timeout);
  }

  const Joining joining_;
  const std::shared_ptr<RendezvousServer> server_;  // rank 0's
  Socket socket_;
  Bytes received_;
  std::uint32_t round_ = 0;
  std::optional<model::Error> failure_;
};

/// What the threads of one communicator share.
struct Shared {
  Shared(const std::string& name, int size) : room(name, size) {}
  std::mutex mutex;
  std::condition_variable changed;
  Room<Bytes> room;
};

class InProcessRendezvous : public Rendezvous {
 public:
  InProcessRendezvous(const Joining& joining, std::shared_ptr<Shared> shared)
      : joining_(joining), shared_(std::move(shared)) {}
  ~InProcessRendezvous() override {
    const std::lock_guard lock(shared_->mutex);
    shared_->room.leave(joining_.world.rank);
    shared_->changed.notify_all();
  }

  model::Result<std::vector<Bytes>> all_gather(Bytes mine) override {
    std::unique_lock lock(shared_->mutex);
    contribute(std::move(mine));
    return answer(lock);
  }

  /// The room is locked.
  void contribute(Bytes mine) {
    shared_->room.contribute(joining_.world.rank, std::move(mine), now(), joining_.timeout);
    shared_->changed.notify_all();
  }
  model::Result<std::vector<Bytes>> answer(std::unique_lock<std::mutex>& lock) {
    Room<Bytes>& room = shared_->room;
    while (true) {
      if (auto all = room.take(joining_.world.rank)) return *std::move(all);
      if (room.failure()) return *room.failure();
      shared_->changed.wait_until(lock, *room.deadline());
      room.expire(now());
      if (room.failure()) shared_->changed.notify_all();
    }
  }

 private:
  const Joining joining_;
  const std::shared_ptr<Shared> shared_;
};

std::unique_ptr<Rendezvous> alone(const Joining& joining) {
  return std::make_unique<InProcessRendezvous>(joining, std::make_shared<Shared>(joining.name, 1));
}

/// The first round, with nothing in it: afterwards everybody is known to be there.
model::Result<std::unique_ptr<Rendezvous>> meet(std::unique_ptr<Rendezvous> rendezvous) {
  const auto all = rendezvous->all_gather({});
  if (!all) return all.error();
  return rendezvous;
}

}  // namespace

model::Result<std::unique_ptr<Rendezvous>> join_over_tcp(const Joining& joining) {
  if (const auto wrong = wrong_name(joining.name)) return *wrong;
  const World& world = joining.world;
  if (world.size == 1) return alone(joining);
  if (world.size > kMostProcesses) {
    return model::Error{"WORLD_SIZE", std::to_string(world.size) + " processes are too many",
                        "at most " + std::to_string(kMostProcesses)};
  }
  std::shared_ptr<RendezvousServer> server;
  if (world.rank == 0) {
    const auto serving = RendezvousServer::at(world.address, world.port);
    if (!serving) return serving.error();
    server = *serving;
  }
  auto socket = connect_to(world.address, world.port, now() + joining.timeout);
  if (!socket) {
    const model::Error late = did_not_arrive(joining.name, {0}, joining.timeout);
    return model::Error{late.where, late.what + ": " + socket.error().what, socket.error().hint};
  }
  return meet(std::make_unique<TcpRendezvous>(joining, server, std::move(*socket)));
}

model::Result<std::unique_ptr<Rendezvous>> join_in_process(const Joining& joining) {
  if (const auto wrong = wrong_name(joining.name)) return *wrong;
  const World& world = joining.world;
  if (world.size == 1) return alone(joining);

  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Shared>> known;
  std::unique_lock registry(mutex);
  auto shared = known[joining.name].lock();
  std::unique_lock<std::mutex> lock;
  if (shared) lock = std::unique_lock(shared->mutex);
  if (!shared || !shared->room.is_open()) {
    if (lock) lock.unlock();
    shared = std::make_shared<Shared>(joining.name, world.size);
    known[joining.name] = shared;
    lock = std::unique_lock(shared->mutex);
  }
  if (shared->room.size() != world.size) {
    shared->room.fail(disagree_on_size(joining.name, world.rank, world.size, shared->room.size()));
    shared->changed.notify_all();
    return *shared->room.failure();
  }
  if (shared->room.has_contributed(world.rank)) return is_there_already(joining.name, world.rank);
  auto rendezvous = std::make_unique<InProcessRendezvous>(joining, shared);
  rendezvous->contribute({});
  registry.unlock();
  const auto all = rendezvous->answer(lock);
  lock.unlock();
  if (!all) return all.error();
  return std::unique_ptr<Rendezvous>(std::move(rendezvous));
}

}  // namespace tally::comm
