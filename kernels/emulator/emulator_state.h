#pragma once

// The inside of the emulator: threads, blocks and streams, and what a kernel's call does to them.
// emulator.cc schedules and runs streams; emulator_access.cc performs accesses, waits and barriers.

#include <deque>
#include <unordered_map>
#include <variant>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/fibre.h"

namespace tally::kernels::emulator {

/// Whether a wait is over, by the bytes that it looks at.
using Holds = std::function<bool(const void*)>;

struct Emulator::Block {
  Stream* stream;
  int live = 0;                  // threads that have not returned
  std::vector<Thread*> arrived;  // at the block barrier
  int wave = 0, threads = 0;
  std::map<std::pair<int, int>, std::vector<Thread*>> shuffles;  // arrived, by first thread, width
};

struct Emulator::Thread {
  Thread(State& state, const Place& place, const Geometry& geometry, Block& block,
         const Kernel& kernel)
      : place(place),
        block(block),
        gpu(state, *this, place.id, geometry),
        fibre([this, &kernel] { kernel(gpu); }) {}

  const Place place;
  Block& block;
  EmulatedGpu gpu;
  Fibre fibre;
  const Access* waits_for = nullptr;
  const Holds* holds = nullptr;  // of that wait
  std::uint64_t target = 0;
  bool has_looked = false;
  std::uint64_t last_seen = 0;  // in its last look
  int shuffles_among = 0;       // so many threads, while it waits for them
  int source = 0;
  std::uint32_t given = 0, received = 0;
};

struct Emulator::Stream {
  struct Launch {
    Geometry geometry;
    Kernel kernel;
  };
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  struct Record {
    int event;
  };
  struct Wait {
    int event;
  };
  using Work = std::variant<Launch, Copy, Record, Wait>;

  int rank;
  std::deque<Work> work;  // a launch or copy at its front is under way where live > 0
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Thread>> threads;
  int live = 0;                               // threads that have not returned; 1 of a copy
  Place engine;                               // of its copies
  std::vector<Place> places;                  // of the threads
  std::vector<int> slots, workgroups, waves;  // numbers of this stream's own, by use
  std::vector<int> engine_slot, engine_workgroup, engine_wave;  // the same for its copies
  Clock known;                                                  // what precedes the front
};

struct Emulator::State final : MemoryListener {
  State(Memory& memory, int ranks, Choices& choices, const Settings& settings);

  // Streams and scheduling: emulator.cc.
  Place place_in(Stream& stream, const Geometry& geometry, int block, int thread);
  bool advance(Stream& stream);
  void start(Stream& stream, const Stream::Launch& launch);
  void offer_copy(Stream& stream);
  void perform_copy(Stream& stream);
  void grow();
  void advance_all();
  Trace run();
  void run_one();
  void thread_finished(Thread& thread);
  void break_hang();
  std::string why_it_waits(const Thread& thread) const;
  void make_runnable(Thread& thread) { runnable.insert(thread.place.slot); }

  // What EmulatedGpu asks for: emulator_access.cc.
  void load(Thread& thread, const Access& access, void* value);
  void store(Thread& thread, const Access& access, const void* value);
  void store_ordered(Thread& thread, Access access, const void* value);
  std::uint64_t update(Thread& thread, const Access& access,
                       const std::function<std::uint64_t(std::uint64_t)>& change);
  bool wait(Thread& thread, Access access, std::uint64_t target, const Holds& holds, void* seen);
  void fence(Thread& thread, Order order, Scope scope, const std::source_location& site);
  void block_barrier(Thread& thread, const std::source_location& site);
  std::uint32_t shuffle(Thread& thread, std::uint32_t value, int source, int width);

  /// Whoever is chosen goes on; this thread when it is.
  void go_on(Thread& thread, const Access* access);
  void access_point(Thread& thread, const Access& access);
  /// Others go on; this thread when it is runnable again, and chosen.
  void pause(Thread& thread);
  void open(Block& block);
  bool in_bounds(const Thread& thread, const Access& access);
  void count_link(const Thread& thread, const Access& access);
  void log(Event::What what, const ThreadId& who, const Access& access, const void* value);
  /// Makes of an ordering line what a mutation leaves of it; false where that is nothing.
  bool mutate(Ordering ordering, const std::source_location& site, Order& order, Scope& scope);
  void performed(const void* address, std::size_t bytes, StoreToken token) override;
  bool looks_again(const Thread& thread) const;
  void look(Thread& thread, const Access& access, void* seen);
  void wake(const void* address, std::size_t bytes);
  void wait_is_over(Thread& thread, const Access& access, const void* seen);
  /// A packet carries data, and its flag in the upper half; a flag is alone.
  static bool is_packet(const Access& access) { return access.bytes > sizeof(std::uint32_t); }
  static std::uint64_t flag_in(std::uint64_t bytes, const Access& access) {
    return is_packet(access) ? bytes >> 32 : bytes;
  }

  struct UnderWay {
    ThreadId writer;
    StoreToken published = 0;  // as HappensBefore knows it
  };
  struct HappenedEvent {
    bool happened = false;
    Clock known;
  };

  Memory& memory;
  const int ranks;
  Choices& choices;
  const Settings settings;
  std::unique_ptr<MemoryModel> model;
  std::unique_ptr<HappensBefore> order;  // null where races are not looked for
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<HappenedEvent> events;
  std::vector<Thread*> threads;    // [slot]
  std::vector<Stream*> engines;    // [slot]: whose copies it does, null of a thread
  std::vector<Upcoming> upcoming;  // [slot]
  SlotSet runnable;
  int chosen = -1;  // the slot that goes on, where a thread has asked already
  int next_slot = 0, next_workgroup = 0, next_wave = 0;
  std::map<std::uintptr_t, std::vector<Thread*>> waiters;  // by address
  std::unordered_map<const void*, ThreadId> writers;       // of atomics, when performed
  std::vector<UnderWay> under_way;                         // [token - 1]
  std::vector<StoreToken> free_tokens;
  Clock host;                                           // what the host knows
  std::ptrdiff_t told_races = 0, told_stale_reads = 0;  // in earlier traces
  std::ptrdiff_t logged_races = 0;
  bool hung = false;
  Trace trace;
};

}  // namespace tally::kernels::emulator
