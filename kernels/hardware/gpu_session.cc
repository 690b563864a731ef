#include "kernels/hardware/gpu_session.h"

#include <algorithm>
#include <cstring>

#include "kernels/recipes.h"
#include "kernels/scratch_size.h"
#include "model/check.h"

namespace tally::kernels::hardware {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

/// What bytes_of() made.
template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

model::Error failure(std::string what, std::string hint = "") {
  return {"communicator", std::move(what), std::move(hint)};
}

std::string device_name(const Share& share) { return "device " + std::to_string(share.device); }

}  // namespace

std::vector<Share> share_out(int ranks, int devices) {
  std::vector<Share> shares;
  int first = 0;
  for (int device = 0; device < devices && first < ranks; ++device) {
    const int mine = ranks / devices + (device < ranks % devices ? 1 : 0);
    shares.push_back({device, first, mine});
    first += mine;
  }
  return shares;
}

std::optional<std::string> cannot_launch(GpuRuntime& runtime, const Share& share,
                                         const KernelName& kernel, int blocks, int threads) {
  const Device& device = runtime.devices()[share.device];
  if (runtime.find_kernel(kernel) == nullptr) return "the GPU has no such kernel";
  if (threads > kMaxThreads) {
    return "a block has at most " + std::to_string(kMaxThreads) + " threads on a GPU";
  }
  if (!can_launch(kernel.arithmetic.wire, threads, device.wave)) {
    return "a block of the wire needs whole groups of threads in a wave";
  }
  runtime.use(share.device);
  const int most = runtime.resident_blocks(runtime.find_kernel(kernel), threads);
  if (blocks * share.ranks > most) {
    return "all blocks have to be on the GPU at once, which takes " + std::to_string(most) +
           " of these for " + std::to_string(share.ranks) + " ranks";
  }
  return std::nullopt;
}

std::string Lost::text() const {
  return "rank " + std::to_string(rank) + ", block " + std::to_string(block) +
         ", gave up waiting for rank " + std::to_string(peer);
}

/// Offsets in bytes. A rank's part of a share's memory begins at a multiple of `rank`.
struct GpuSession::Layout {
  explicit Layout(const SessionOptions& o)
      : flags(padded(o.scratch_bytes)),
        counts(flags + padded(sizeof(std::uint32_t) * kMaxRanks * o.max_blocks)),
        packets(counts + padded(sizeof(std::int64_t) * kMaxRanks * o.max_blocks)),
        rank(packets + padded(o.packet_bytes)) {}

  struct Own {
    Own(const SessionOptions& o, int ranks)
        : packet_epochs(padded(sizeof(std::uint32_t) * ranks * o.max_blocks)),
          stuck(packet_epochs + padded(sizeof(std::uint32_t) * ranks * o.max_blocks)),
          bytes(stuck + padded(sizeof(Stuck) * ranks)) {}
    std::size_t packet_epochs, stuck, bytes;
  };

  /// As aligned as memory that is allocated.
  static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t flags, counts, packets, rank;
};

model::Result<std::unique_ptr<GpuSession>> GpuSession::create(GpuRuntime& runtime,
                                                              Exchange& exchange,
                                                              std::vector<Share> shares,
                                                              const SessionOptions& options) {
  std::unique_ptr<GpuSession> session(
      new GpuSession(runtime, exchange, std::move(shares), options));
  if (auto error = session->set_up()) return *std::move(error);
  return session;
}

GpuSession::GpuSession(GpuRuntime& runtime, Exchange& exchange, std::vector<Share> shares,
                       const SessionOptions& options)
    : runtime_(runtime),
      exchange_(exchange),
      shares_(std::move(shares)),
      options_(options),
      memory_(shares_.size()) {
  TALLY_CHECK(!shares_.empty(), "a process of a session has a share of its ranks");
}

std::optional<model::Error> GpuSession::set_up() {
  if (auto error = share_all_out()) return error;
  if (auto error = agree(allocate())) return error;
  is_reachable_ = true;
  if (auto error = agree(map_peers())) return error;
  return std::nullopt;
}

/// An error where any process has one, and all learn it.
std::optional<model::Error> GpuSession::agree(const std::string& error) {
  const auto of_process = exchange_.all_gather(bytes_of(std::span(error)));
  if (of_process.size() != of_process_.size()) {
    is_broken_ = true;
    return failure("a process was lost while memory was set up");
  }
  for (std::size_t process = 0; process < of_process.size(); ++process) {
    const std::vector<char> text = values_of<char>(of_process[process]);
    if (text.empty()) continue;
    const std::string who =
        of_process.size() == 1 ? "" : "process " + std::to_string(process) + ": ";
    return failure(who + std::string(text.begin(), text.end()));
  }
  return std::nullopt;
}

/// Tells all processes' shares to each other. They hold every rank once, in order.
std::optional<model::Error> GpuSession::share_all_out() {
  const Bytes options = bytes_of(std::span(&options_, 1));
  Bytes mine = options;
  const Bytes of_shares = bytes_of(std::span(shares_));
  mine.insert(mine.end(), of_shares.begin(), of_shares.end());
  const auto of_process = exchange_.all_gather(mine);
  if (of_process.empty()) return failure("a process was lost while ranks were shared out");
  for (const Bytes& all : of_process) {
    if (all.size() < options.size() || !std::equal(options.begin(), options.end(), all.begin())) {
      return failure("processes ask for scratch of different sizes");
    }
    of_process_.push_back(values_of<Share>(std::span(all).subspan(options.size())));
    for (const Share& share : of_process_.back()) {
      if (share.first_rank != ranks_ || share.ranks < 1 || share.ranks > kMaxRanks - ranks_) {
        return failure("the processes do not share out the ranks in order",
                       "at most " + std::to_string(kMaxRanks) + " ranks, each once");
      }
      if (share.first_rank == shares_[0].first_rank) process_ = of_process_.size() - 1;
      ranks_ += share.ranks;
    }
  }
  return std::nullopt;
}

/// Why there is not enough memory; empty where there is. It is zero when this returns.
std::string GpuSession::allocate() {
  const Layout layout(options_);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Layout::Own own(options_, shares_[i].ranks);
    const std::size_t shared_bytes = layout.rank * shares_[i].ranks;
    Memory& memory = memory_[i];
    runtime_.use(shares_[i].device);
    memory.shared = runtime_.allocate_shared(shared_bytes);
    memory.own = runtime_.allocate(own.bytes);
    if (memory.shared == nullptr || memory.own == nullptr) {
      return device_name(shares_[i]) + " has no " + std::to_string(shared_bytes + own.bytes) +
             " bytes free";
    }
    memory.stream = runtime_.create_stream();
    runtime_.fill(memory.shared, std::byte{0}, shared_bytes, memory.stream);
    runtime_.fill(memory.own, std::byte{0}, own.bytes, memory.stream);
    runtime_.synchronize(memory.stream);
  }
  return "";
}

/// Why a peer cannot be reached; empty where all can.
std::string GpuSession::map_peers() {
  std::vector<MemoryHandle> mine(of_process_.size() > 1 ? shares_.size() : 0);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    runtime_.use(shares_[i].device);
    mine[i] = runtime_.export_memory(memory_[i].shared);
  }
  const auto handles = exchange_.all_gather(bytes_of(std::span<const MemoryHandle>(mine)));
  if (handles.size() != of_process_.size()) return "a process was lost";
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    runtime_.use(shares_[i].device);
    for (std::size_t process = 0; process < of_process_.size(); ++process) {
      const auto of_shares = values_of<MemoryHandle>(handles[process]);
      const std::string error =
          process == process_ ? map_own(memory_[i]) : map_imported(memory_[i], process, of_shares);
      if (!error.empty()) return device_name(shares_[i]) + " cannot reach " + error;
    }
  }
  return "";
}

/// The shares of this process, for the thread's device. What cannot be reached; empty: all can.
std::string GpuSession::map_own(Memory& memory) {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (!runtime_.enable_peer(shares_[i].device)) return device_name(shares_[i]);
    set_peers(memory.peers, shares_[i], memory_[i].shared);
  }
  return "";
}

/// The shares of another process, likewise.
std::string GpuSession::map_imported(Memory& memory, std::size_t process,
                                     const std::vector<MemoryHandle>& handles) {
  for (std::size_t i = 0; i < of_process_[process].size(); ++i) {
    void* const shared = i < handles.size() ? runtime_.import_memory(handles[i]) : nullptr;
    if (shared == nullptr) {
      return device_name(of_process_[process][i]) + " of process " + std::to_string(process);
    }
    memory.imported.push_back(shared);
    set_peers(memory.peers, of_process_[process][i], shared);
  }
  return "";
}

void GpuSession::set_peers(Peers& peers, const Share& share, void* shared) const {
  const Layout layout(options_);
  for (int i = 0; i < share.ranks; ++i) {
    std::byte* const first = static_cast<std::byte*>(shared) + layout.rank * i;
    const int rank = share.first_rank + i;
    peers.scratch[rank] = first;
    peers.flags[rank] = reinterpret_cast<std::uint32_t*>(first + layout.flags);
    peers.packets[rank] = reinterpret_cast<std::uint64_t*>(first + layout.packets);
    peers.counts[rank] = reinterpret_cast<std::int64_t*>(first + layout.counts);
  }
}

GpuSession::~GpuSession() {
  const auto use = [&](std::size_t i) -> Memory& {
    runtime_.use(shares_[i].device);
    return memory_[i];
  };
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    for (void* const imported : use(i).imported) runtime_.close_memory(imported);
  }
  // Nobody frees what a peer still has open. A peer that is lost may have it open for ever: what it
  // reaches is then the process's until its end.
  const bool is_alone = of_process_.size() <= 1;
  const bool is_closed = !is_reachable_ || is_alone ||
                         (!is_broken_ && exchange_.all_gather({}).size() == of_process_.size());
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    Memory& memory = use(i);
    if (memory.stream != nullptr) runtime_.destroy(memory.stream);
    if (memory.own != nullptr) runtime_.free(memory.own);
    if (memory.shared != nullptr && is_closed) runtime_.free(memory.shared);
  }
}

std::optional<std::string> GpuSession::cannot_launch(int share, const GroupCall& call) const {
  const auto& [collective, algorithm, arithmetic] = call.kernel;
  auto reason =
      hardware::cannot_launch(runtime_, shares_[share], call.kernel, call.blocks, call.threads);
  if (reason) return reason;
  if (call.threads > options_.max_threads || call.blocks > options_.max_blocks) {
    return "the communicator was not made for so large a launch";
  }
  if (scratch_bytes(collective, arithmetic, ranks_, call.count) > options_.scratch_bytes ||
      packet_bytes(algorithm, arithmetic, ranks_, call.count) > options_.packet_bytes) {
    return "the communicator was not made for so many elements";
  }
  return std::nullopt;
}

void GpuSession::launch(int share, Stream stream, const GroupCall& call) {
  TALLY_CHECK(!is_broken_, "a peer was lost");
  TALLY_CHECK(!cannot_launch(share, call), "cannot_launch() has nothing against the call");
  TALLY_CHECK(static_cast<int>(call.ranks.size()) == shares_[share].ranks,
              "a call has the buffers of the share's ranks");
  Memory& memory = memory_[share];
  const Layout::Own layout(options_, shares_[share].ranks);
  std::byte* const own = static_cast<std::byte*>(memory.own);
  Launch launch{};
  launch.peers = memory.peers;
  launch.own = {reinterpret_cast<std::uint32_t*>(own),
                reinterpret_cast<std::uint32_t*>(own + layout.packet_epochs),
                reinterpret_cast<Stuck*>(own + layout.stuck), options_.max_blocks,
                static_cast<std::int64_t>(options_.packet_bytes /
                                          (packet_bytes_of_word(sizeof(Word)) * ranks_))};
  std::copy(call.ranks.begin(), call.ranks.end(), launch.calls);
  launch.count = call.count;
  launch.ranks = ranks_;
  launch.first_rank = shares_[share].first_rank;
  launch.factor = call.factor;
  launch.rounds = call.rounds;
  launch.wire = BlockParameters::of(call.kernel.arithmetic.wire);
  launch.number = memory.calls++;
  runtime_.use(shares_[share].device);
  runtime_.launch(runtime_.find_kernel(call.kernel), call.blocks, call.threads,
                  shares_[share].ranks, stream, launch);
}

std::optional<Lost> GpuSession::lost() {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Layout::Own layout(options_, shares_[i].ranks);
    std::vector<Stuck> stuck(shares_[i].ranks);
    runtime_.use(shares_[i].device);
    runtime_.copy(stuck.data(), static_cast<std::byte*>(memory_[i].own) + layout.stuck,
                  stuck.size() * sizeof(Stuck), memory_[i].stream);
    runtime_.synchronize(memory_[i].stream);
    for (int rank = 0; rank < shares_[i].ranks; ++rank) {
      if (stuck[rank].happened == 0) continue;
      is_broken_ = true;
      return Lost{shares_[i].first_rank + rank, stuck[rank].block, stuck[rank].peer};
    }
  }
  return std::nullopt;
}

}  // namespace tally::kernels::hardware
