#include "kernels/emulator/emulator.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <sstream>
#include <utility>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/fibre.h"
#include "model/check.h"

namespace tally::kernels::emulator {

namespace {

std::string name(const ThreadId& id) {
  std::ostringstream text;
  text << "rank " << id.rank << " block " << id.block << " thread " << id.thread;
  return text.str();
}

}  // namespace

struct Emulator::Block {
  Stream* stream;
  int live = 0;                  // threads that have not returned
  std::vector<Thread*> arrived;  // at the block barrier
  int wave = 0, threads = 0;
  std::map<std::pair<int, int>, std::vector<Thread*>> shuffles;  // arrived, by first thread, width
};

struct Emulator::Thread {
  Thread(Emulator& emulator, ThreadId id, const Geometry& geometry, Block& block,
         const Kernel& kernel)
      : id(id),
        block(block),
        gpu(emulator, *this, id, geometry),
        fibre([this, &kernel] { kernel(gpu); }) {}

  const ThreadId id;
  Block& block;
  EmulatedGpu gpu;
  Fibre fibre;
  const std::uint32_t* waits_for = nullptr;  // a flag
  std::uint32_t target = 0;
  int shuffles_among = 0;  // so many threads, while it waits for them
  int source = 0;
  std::uint32_t given = 0, received = 0;
};

struct Emulator::Stream {
  struct Launch {
    Geometry geometry;
    Kernel kernel;
  };
  std::deque<Launch> launches;  // the first one is running if there are threads
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Thread>> threads;
  int live = 0;
};

Emulator::Emulator(Memory& memory, int ranks, std::uint64_t seed)
    : memory_(memory), ranks_(ranks), random_state_(seed), streams_(ranks) {
  trace_.link_bytes.assign(ranks * ranks, 0);
}

Emulator::~Emulator() = default;

/// SplitMix64 (Steele, Lea, Flood 2014): the whole state is one word.
std::uint64_t Emulator::random() {
  std::uint64_t z = random_state_ += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

void Emulator::launch(int rank, const Geometry& geometry, Kernel kernel) {
  TALLY_CHECK(geometry.blocks >= 1 && geometry.threads >= 1, "a launch has threads");
  streams_[rank].launches.push_back({geometry, std::move(kernel)});
}

void Emulator::start_next_launch(int rank) {
  Stream& stream = streams_[rank];
  if (stream.launches.empty()) return;
  const auto& [geometry, kernel] = stream.launches.front();
  for (int b = 0; b < geometry.blocks; ++b) {
    Block& block = *stream.blocks.emplace_back(std::make_unique<Block>());
    block.stream = &stream;
    block.live = block.threads = geometry.threads;
    block.wave = geometry.wave;
    for (int t = 0; t < geometry.threads; ++t) {
      stream.threads.push_back(
          std::make_unique<Thread>(*this, ThreadId{rank, b, t}, geometry, block, kernel));
      make_runnable(*stream.threads.back());
    }
  }
  stream.live = geometry.blocks * geometry.threads;
}

void Emulator::make_runnable(Thread& thread) { runnable_.push_back(&thread); }

Trace Emulator::run() {
  for (int rank = 0; rank < ranks_; ++rank) start_next_launch(rank);
  const auto all_done = [&] {
    for (const Stream& stream : streams_) {
      if (stream.live > 0) return false;
    }
    return true;
  };
  while (!all_done()) {
    if (runnable_.empty()) {
      break_hang();
    } else {
      run_one();
    }
  }
  hung_ = false;
  Trace done = std::exchange(trace_, Trace{});
  trace_.link_bytes.assign(ranks_ * ranks_, 0);
  return done;
}

void Emulator::run_one() {
  const std::size_t index = random() % runnable_.size();
  Thread& thread = *runnable_[index];
  runnable_[index] = runnable_.back();
  runnable_.pop_back();
  thread.fibre.resume();
  if (thread.fibre.finished()) thread_finished(thread);
}

void Emulator::thread_finished(Thread& thread) {
  Block& block = thread.block;
  // Threads that returned take no part in the block's barriers any more.
  if (--block.live > 0 && static_cast<int>(block.arrived.size()) == block.live) {
    for (Thread* waiting : block.arrived) make_runnable(*waiting);
    block.arrived.clear();
  }
  Stream& stream = *block.stream;
  if (--stream.live > 0) return;
  const int rank = thread.id.rank;
  stream.threads.clear();
  stream.blocks.clear();
  stream.launches.pop_front();
  start_next_launch(rank);
}

std::string Emulator::why_it_waits(const Thread& thread) const {
  std::ostringstream text;
  if (thread.waits_for != nullptr) {
    text << name(thread.id) << " waits for " << memory_.describe(thread.waits_for) << " to reach "
         << thread.target << "; it holds " << *thread.waits_for << ", ";
    const auto writer = writers_.find(thread.waits_for);
    text << (writer == writers_.end() ? "never written"
                                      : "last written by " + name(writer->second.id));
  } else if (thread.shuffles_among != 0) {
    text << name(thread.id) << " waits in a shuffle among " << thread.shuffles_among
         << " threads, to which not all of them come";
  }
  return text.str();
}

void Emulator::break_hang() {
  const bool is_first = !hung_;
  hung_ = true;
  for (Stream& stream : streams_) {
    for (const auto& thread : stream.threads) {
      if (thread->fibre.finished()) continue;
      const std::string why = is_first ? why_it_waits(*thread) : "";
      if (!why.empty()) trace_.hang.push_back(why);
      make_runnable(*thread);
    }
    for (const auto& block : stream.blocks) {
      block->arrived.clear();
      block->shuffles.clear();
    }
  }
  waiters_.clear();
  // Somebody waits for a flag or in a shuffle: a barrier opens when all live threads of its block
  // have arrived.
  TALLY_CHECK(!is_first || !trace_.hang.empty(), "a hang without a wait");
}

bool Emulator::in_bounds(const Thread& thread, const void* address, std::size_t bytes,
                         const char* verb) {
  if (memory_.find(address, bytes) != nullptr) return true;
  if (trace_.out_of_bounds.size() < 10) {
    std::ostringstream text;
    text << "rank " << thread.id.rank << " block " << thread.id.block << " thread "
         << thread.id.thread << ' ' << verb << ' ' << bytes << " bytes at "
         << memory_.describe(address) << ", which is outside it";
    trace_.out_of_bounds.push_back(text.str());
  }
  return memory_.owner(address) >= 0;  // inside the arena it goes on, as hardware would
}

void Emulator::read(Thread& thread, const void* address, void* value, std::size_t bytes) {
  if (!in_bounds(thread, address, bytes, "reads")) {
    std::fill_n(static_cast<std::byte*>(value), bytes, std::byte{0});
    return;
  }
  const int owner = memory_.owner(address);
  if (owner != thread.id.rank) trace_.link_bytes[owner * ranks_ + thread.id.rank] += bytes;
  memory_.read(address, value, bytes);
}

void Emulator::write(Thread& thread, void* address, const void* value, std::size_t bytes) {
  if (!in_bounds(thread, address, bytes, "writes")) return;
  const int owner = memory_.owner(address);
  if (owner != thread.id.rank) trace_.link_bytes[thread.id.rank * ranks_ + owner] += bytes;
  memory_.write(address, value, bytes);
}

void Emulator::block_barrier(Thread& thread) {
  Block& block = thread.block;
  block.arrived.push_back(&thread);
  if (static_cast<int>(block.arrived.size()) < block.live) {
    thread.fibre.pause();
    return;
  }
  for (Thread* waiting : block.arrived) make_runnable(*waiting);
  block.arrived.clear();
  thread.fibre.pause();
}

std::uint32_t Emulator::shuffle(Thread& thread, std::uint32_t value, int source, int width) {
  Block& block = thread.block;
  TALLY_CHECK(block.wave % width == 0 && block.threads % width == 0,
              "a shuffle is among whole groups of a wave");
  const int first = thread.id.thread / width * width;
  TALLY_CHECK(source >= first && source < first + width, "a shuffle reads its own group");
  if (width == 1) return value;
  thread.source = source;
  thread.given = thread.received = value;
  std::vector<Thread*>& arrived = block.shuffles[{first, width}];
  arrived.push_back(&thread);
  if (static_cast<int>(arrived.size()) < width) {
    thread.shuffles_among = width;
    thread.fibre.pause();
    thread.shuffles_among = 0;
    return thread.received;
  }
  for (Thread* reader : arrived) {
    for (const Thread* one : arrived) {
      if (one->id.thread == reader->source) reader->received = one->given;
    }
    if (reader != &thread) make_runnable(*reader);
  }
  arrived.clear();
  return thread.received;
}

void Emulator::store_flag(Thread& thread, std::uint32_t* flag, std::uint32_t value) {
  if (!in_bounds(thread, flag, sizeof *flag, "writes")) return;
  memory_.write(flag, &value, sizeof value);
  writers_[flag] = {thread.id};
  if (const auto waiting = waiters_.find(flag); waiting != waiters_.end()) {
    for (Thread* waiter : waiting->second) make_runnable(*waiter);
    waiters_.erase(waiting);
  }
  make_runnable(thread);
  thread.fibre.pause();
}

bool Emulator::wait(Thread& thread, const std::uint32_t* flag, std::uint32_t target,
                    const std::function<bool(std::uint32_t)>& predicate) {
  if (!in_bounds(thread, flag, sizeof *flag, "reads")) return false;
  for (;;) {
    std::uint32_t value;
    memory_.read(flag, &value, sizeof value);
    if (predicate(value)) {
      if (const auto writer = writers_.find(flag); writer != writers_.end()) {
        const ThreadId& from = writer->second.id;
        ++trace_.edges[{from.rank, from.block, thread.id.rank, thread.id.block}];
      }
      return true;
    }
    if (hung_) return false;
    waiters_[flag].push_back(&thread);
    thread.waits_for = flag;
    thread.target = target;
    thread.fibre.pause();
    thread.waits_for = nullptr;
  }
}

}  // namespace tally::kernels::emulator
