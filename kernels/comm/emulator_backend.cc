#include "kernels/comm/emulator_backend.h"

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "kernels/emulator/communicator.h"
#include "kernels/scratch_size.h"

namespace tally::comm {
namespace {

namespace emulator = kernels::emulator;

Time now() { return std::chrono::steady_clock::now(); }

/// A call as all ranks' works see it.
struct Outcome {
  bool has_ended = false;
  std::optional<model::Error> error;
};

/// A rank's buffers in the memory of its virtual GPU.
struct Buffers {
  std::byte *input, *output;
  std::int64_t *send_counts, *received_counts;
};

class Machine {
 public:
  Machine(const EmulatorOptions& options, int ranks)
      : options_(options),
        memory_(ranks, room(options, ranks)),
        session_(memory_, ranks, options.geometry, options.capacity.scratch_bytes(ranks),
                 options.capacity.packet_bytes(ranks)),
        choices_(options.seed),
        emulator_(memory_, ranks, choices_, {.memory = options.memory}),
        gpus_(emulator_, session_),
        room_(options.name, ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto allocate = [&](const char* name, std::size_t bytes) {
        return memory_.allocate(rank, name, bytes, std::byte{0}).first;
      };
      const auto message = static_cast<std::size_t>(options.capacity.message_bytes);
      buffers_.push_back({allocate("input", message), allocate("output", message),
                          reinterpret_cast<std::int64_t*>(allocate("send counts", kCountBytes)),
                          reinterpret_cast<std::int64_t*>(allocate("counts", kCountBytes))});
    }
  }

  model::Result<std::shared_ptr<Outcome>> issue(int rank, const Issue& issue) {
    const std::lock_guard lock(mutex_);
    if (room_.failure()) return *room_.failure();
    auto& outcome = outcomes_[room_.contributions(rank)];
    if (!outcome) outcome = std::make_shared<Outcome>();
    const std::shared_ptr<Outcome> mine = outcome;
    room_.contribute(rank, issue, now(), options_.timeout);
    run_what_is_complete();
    changed_.notify_all();
    return mine;
  }

  std::optional<model::Error> wait(const Outcome& outcome) {
    std::unique_lock lock(mutex_);
    while (!outcome.has_ended && !room_.failure()) {
      changed_.wait_until(lock, *room_.deadline());
      room_.expire(now());
      if (room_.failure()) changed_.notify_all();
    }
    return outcome.has_ended ? outcome.error : room_.failure();
  }

  Work::Status status(const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    room_.expire(now());
    if (outcome.has_ended) return outcome.error ? Work::Status::ERROR : Work::Status::COMPLETED;
    if (!room_.failure()) return Work::Status::INPROGRESS;
    return room_.has_expired() ? Work::Status::TIMEDOUT : Work::Status::ERROR;
  }

  std::optional<model::Error> failure() {
    const std::lock_guard lock(mutex_);
    return room_.failure();
  }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    room_.leave(rank);
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kCountBytes = sizeof(std::int64_t) * kernels::kMaxRanks;

  static std::size_t room(const EmulatorOptions& options, int ranks) {
    const Capacity& capacity = options.capacity;
    const auto message = static_cast<std::size_t>(capacity.message_bytes);
    return emulator::Session::room(options.geometry, capacity.scratch_bytes(ranks),
                                   capacity.packet_bytes(ranks)) +
           2 * emulator::Memory::room(message) + 2 * emulator::Memory::room(kCountBytes);
  }

  void run_what_is_complete() {
    while (const auto calls = room_.take(0)) {
      for (int rank = 1; rank < room_.size(); ++rank) room_.take(rank);
      const auto oldest = outcomes_.begin();
      oldest->second->error = disagreement(*calls);
      if (!oldest->second->error) oldest->second->error = run(*calls);
      oldest->second->has_ended = true;
      outcomes_.erase(oldest);
    }
  }

  std::optional<model::Error> disagreement(const std::vector<Issue>& calls) const {
    for (std::size_t rank = 1; rank < calls.size(); ++rank) {
      if (calls[rank].text() == calls[0].text()) continue;
      return differing_calls(options_.name, calls[0].text(), static_cast<int>(rank),
                             calls[rank].text());
    }
    return std::nullopt;
  }

  std::optional<model::Error> run(const std::vector<Issue>& calls) {
    const Issue& first = calls[0];
    const emulator::KernelKey key{first.algorithm, first.arithmetic, "", first.collective};
    if (!emulator::find_binder(key)) {
      return error("the emulator has no kernel for " + first.text(), "Options::algorithms");
    }
    if (!emulator::can_launch(first.arithmetic, options_.geometry)) {
      return error("a block of the wire needs whole groups of threads", "the hint 'threads'");
    }
    emulator::Call call{first.count, {}, {}, 0, {}, {}};
    for (std::size_t rank = 0; rank < calls.size(); ++rank)
      copy_in(calls[rank], buffers_[rank], call);
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      gpus_.collective(static_cast<int>(rank), key, call);
    }
    const emulator::Trace trace = gpus_.synchronize();
    std::vector<std::string> broken = trace.hang;
    broken.insert(broken.end(), trace.out_of_bounds.begin(), trace.out_of_bounds.end());
    for (const std::string& guard : memory_.broken_guards()) broken.push_back(guard);
    if (!broken.empty()) {
      room_.fail(error("the kernel failed: " + broken.front(), "the emulator's own finding"));
      return room_.failure();
    }
    return copy_out(calls);
  }

  /// In place where the collective is, on the virtual GPU too.
  void copy_in(const Issue& issue, const Buffers& at, emulator::Call& call) const {
    const bool in_place = issue.collective == model::Collective::all_reduce;
    copy(at.input, issue.buffers.input, input_bytes(issue));
    call.inputs.push_back(at.input);
    call.outputs.push_back(in_place ? at.input : at.output);
    if (issue.collective != model::Collective::all_to_all_v) return;
    copy(at.output, issue.buffers.output, output_bytes(issue));
    std::memcpy(at.send_counts, issue.buffers.send_counts, sizeof(std::int64_t) * room_.size());
    call.send_counts.push_back(at.send_counts);
    call.received_counts.push_back(at.received_counts);
  }

  std::optional<model::Error> copy_out(const std::vector<Issue>& calls) const {
    std::optional<model::Error> beyond;
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      const Issue& issue = calls[rank];
      const Buffers& at = buffers_[rank];
      const bool in_place = issue.collective == model::Collective::all_reduce;
      copy(issue.buffers.output, in_place ? at.input : at.output, output_bytes(issue));
      if (issue.collective != model::Collective::all_to_all_v) continue;
      std::memcpy(issue.buffers.received_counts, at.received_counts,
                  sizeof(std::int64_t) * room_.size());
      if (!beyond)
        beyond = beyond_bound(options_.name, at.received_counts, room_.size(), issue.count);
    }
    return beyond;
  }

  /// A tensor without elements may have no memory, which memcpy() does not take.
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  std::size_t input_bytes(const Issue& issue) const {
    return issue.arithmetic.element.bytes() *
           model::input_elements(issue.collective, room_.size(), issue.count);
  }
  std::size_t output_bytes(const Issue& issue) const {
    return issue.arithmetic.element.bytes() *
           model::output_elements(issue.collective, room_.size(), issue.count);
  }
  model::Error error(std::string what, std::string hint) const {
    return {"communicator '" + options_.name + "'", std::move(what), std::move(hint)};
  }

  const EmulatorOptions options_;
  emulator::Memory memory_;
  emulator::Session session_;
  emulator::RandomWalk choices_;
  emulator::Emulator emulator_;
  emulator::Communicator gpus_;
  std::vector<Buffers> buffers_;  // [rank]

  std::mutex mutex_;
  std::condition_variable changed_;
  Room<Issue> room_;
  std::map<std::int64_t, std::shared_ptr<Outcome>> outcomes_;  // by round, until it has ended
};

class EmulatorWork : public Work {
 public:
  EmulatorWork(std::shared_ptr<Machine> machine, std::shared_ptr<Outcome> outcome)
      : machine_(std::move(machine)), outcome_(std::move(outcome)) {}
  std::optional<model::Error> wait() override { return machine_->wait(*outcome_); }
  Status status() override { return machine_->status(*outcome_); }

 private:
  const std::shared_ptr<Machine> machine_;
  const std::shared_ptr<Outcome> outcome_;
};

class EmulatorBackend : public Backend {
 public:
  EmulatorBackend(std::shared_ptr<Machine> machine, int rank)
      : machine_(std::move(machine)), rank_(rank) {}
  ~EmulatorBackend() override { machine_->leave(rank_); }

  model::Result<std::shared_ptr<Work>> issue(const Issue& issue) override {
    auto outcome = machine_->issue(rank_, issue);
    if (!outcome) return outcome.error();
    return std::shared_ptr<Work>(std::make_shared<EmulatorWork>(machine_, std::move(*outcome)));
  }
  std::optional<model::Error> failure() override { return machine_->failure(); }
  void* barrier_memory() override { return &barrier_; }

 private:
  const std::shared_ptr<Machine> machine_;
  const int rank_;
  float barrier_ = 0;
};

/// Machines by number, while rank 0 hands out the number.
class Machines {
 public:
  std::uint64_t add(const std::shared_ptr<Machine>& machine) {
    const std::lock_guard lock(mutex_);
    machines_[++last_] = machine;
    return last_;
  }
  std::shared_ptr<Machine> find(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto at = machines_.find(number);
    return at == machines_.end() ? nullptr : at->second.lock();
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    machines_.erase(number);
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Machine>> machines_;
};

}  // namespace

model::Result<std::unique_ptr<Backend>> emulator_backend(const EmulatorOptions& options, int rank,
                                                         int ranks, Rendezvous& rendezvous) {
  static Machines machines;
  std::shared_ptr<Machine> machine;
  std::uint64_t number = 0;
  Bytes mine(sizeof number);
  if (rank == 0) {
    machine = std::make_shared<Machine>(options, ranks);
    number = machines.add(machine);
    std::memcpy(mine.data(), &number, sizeof number);
  }
  const auto all = rendezvous.all_gather(mine);
  if (all) std::memcpy(&number, all->front().data(), sizeof number);
  if (all && rank != 0) machine = machines.find(number);
  // Until everybody has found it, rank 0 holds it.
  const auto found = rendezvous.all_gather({});
  if (rank == 0) machines.remove(number);
  if (!found) return found.error();
  return std::unique_ptr<Backend>(std::make_unique<EmulatorBackend>(machine, rank));
}

}  // namespace tally::comm
