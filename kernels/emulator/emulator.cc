#include "kernels/emulator/emulator.h"

#include <sstream>
#include <utility>

#include "kernels/emulator/access_names.h"
#include "kernels/emulator/emulator_state.h"
#include "model/check.h"

namespace tally::kernels::emulator {

namespace {

/// Number `index` of a stream's own, which is the next of all where the stream had none yet.
int number_of(std::vector<int>& own, int index, int& next) {
  while (static_cast<int>(own.size()) <= index) own.push_back(next++);
  return own[index];
}

}  // namespace

Emulator::Emulator(Memory& memory, int ranks, Choices& choices, const Settings& settings)
    : state_(std::make_unique<State>(memory, ranks, choices, settings)) {
  for (int rank = 0; rank < ranks; ++rank) add_stream(rank);
}

Emulator::~Emulator() = default;

int Emulator::add_stream(int rank) {
  state_->streams.emplace_back(std::make_unique<Stream>())->rank = rank;
  return static_cast<int>(state_->streams.size()) - 1;
}

void Emulator::launch(int stream, const Geometry& geometry, Kernel kernel) {
  TALLY_CHECK(geometry.blocks >= 1 && geometry.threads >= 1, "a launch has threads");
  state_->streams[stream]->work.push_back(Stream::Launch{geometry, std::move(kernel)});
}

void Emulator::copy(int stream, void* to, const void* from, std::size_t bytes) {
  TALLY_CHECK(
      state_->memory.find(to, bytes) != nullptr && state_->memory.find(from, bytes) != nullptr,
      "a copy is from one buffer to another");
  state_->streams[stream]->work.push_back(Stream::Copy{to, from, bytes});
}

int Emulator::record(int stream) {
  state_->events.emplace_back();
  const int event = static_cast<int>(state_->events.size()) - 1;
  state_->streams[stream]->work.push_back(Stream::Record{event});
  return event;
}

void Emulator::wait(int stream, int event) {
  TALLY_CHECK(event >= 0 && event < std::ssize(state_->events), "there is no such event");
  state_->streams[stream]->work.push_back(Stream::Wait{event});
}

Trace Emulator::run() { return state_->run(); }

Emulator::State::State(Memory& home, int rank_count, Choices& all_choices, const Settings& how)
    : memory(home), ranks(rank_count), choices(all_choices), settings(how) {
  model = settings.memory == MemoryKind::strong
              ? strong_memory(*this)
              : gfx942_memory(memory, *this, choices, settings.gfx942);
  if (settings.finds_races) order = std::make_unique<HappensBefore>(memory);
  trace.link_bytes.assign(ranks * ranks, 0);
}

Place Emulator::State::place_in(Stream& stream, const Geometry& geometry, int block, int thread) {
  const int waves_of_block = (geometry.threads + geometry.wave - 1) / geometry.wave;
  Place place;
  place.slot = number_of(stream.slots, block * geometry.threads + thread, next_slot);
  place.id = {stream.rank, block, thread};
  place.workgroup = number_of(stream.workgroups, block, next_workgroup);
  place.wave = number_of(stream.waves, block * waves_of_block + thread / geometry.wave, next_wave);
  return place;
}

/// Room for the slots that there are by now.
void Emulator::State::grow() {
  upcoming.resize(next_slot);
  runnable.resize(next_slot);
  threads.resize(next_slot);
  engines.resize(next_slot);
  if (order != nullptr) order->resize(next_slot);
}

void Emulator::State::start(Stream& stream, const Stream::Launch& launch) {
  const Geometry& geometry = launch.geometry;
  for (int b = 0; b < geometry.blocks; ++b) {
    Block& block = *stream.blocks.emplace_back(std::make_unique<Block>());
    block.stream = &stream;
    block.live = block.threads = geometry.threads;
    block.wave = geometry.wave;
    for (int t = 0; t < geometry.threads; ++t) {
      const Place place = place_in(stream, geometry, b, t);
      stream.places.push_back(place);
      stream.threads.push_back(
          std::make_unique<Thread>(*this, place, geometry, block, launch.kernel));
    }
  }
  stream.live = geometry.blocks * geometry.threads;
  grow();
  for (const auto& thread : stream.threads) {
    upcoming[thread->place.slot] = {thread->place, nullptr};
    threads[thread->place.slot] = thread.get();
    make_runnable(*thread);
  }
  model->kernel_begins(stream.rank, stream.places);
  if (order != nullptr) order->kernel_begins(stream.places, stream.known);
}

/// The stream's copy engine is one more that can go on.
void Emulator::State::offer_copy(Stream& stream) {
  const int slot = number_of(stream.engine_slot, 0, next_slot);
  stream.engine = {slot,
                   {stream.rank, -1, 0},
                   number_of(stream.engine_workgroup, 0, next_workgroup),
                   number_of(stream.engine_wave, 0, next_wave)};
  stream.live = 1;
  grow();
  upcoming[slot] = {stream.engine, nullptr};
  engines[slot] = &stream;
  runnable.insert(slot);
}

/// A copy is done at once: what runs beside it may be before or after it, never within.
void Emulator::State::perform_copy(Stream& stream) {
  const Stream::Copy copy = std::get<Stream::Copy>(stream.work.front());
  const Place engine = stream.engine;
  runnable.erase(engine.slot);
  model->synchronise(stream.rank);
  if (order != nullptr) order->kernel_begins({&engine, 1}, stream.known);
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = 0; at < copy.bytes; at += kPiece) {
    const auto bytes = static_cast<std::uint32_t>(std::min(kPiece, copy.bytes - at));
    const auto* from = static_cast<const std::byte*>(copy.from) + at;
    auto* to = static_cast<std::byte*>(copy.to) + at;
    std::byte value[kPiece];
    std::memcpy(value, from, bytes);
    const Access read{from, bytes, AccessKind::load}, write{to, bytes, AccessKind::store};
    if (order != nullptr) order->load(engine, read, value);
    log(Event::What::access, engine.id, read, value);
    if (order != nullptr) order->store(engine, write, value);
    log(Event::What::access, engine.id, write, value);
    std::memcpy(to, value, bytes);
    wake(to, bytes);
  }
  if (order != nullptr) order->kernel_ends({&engine, 1}, stream.known);
  stream.live = 0;
  stream.work.pop_front();
  advance_all();
}

/// Begins or does what is at the front; false where that has to wait, or there is nothing.
bool Emulator::State::advance(Stream& stream) {
  if (stream.live > 0 || stream.work.empty()) return false;
  const Stream::Work& front = stream.work.front();
  if (const auto* launch = std::get_if<Stream::Launch>(&front)) {
    start(stream, *launch);
    return true;  // it stays at the front until its threads have returned
  }
  if (std::holds_alternative<Stream::Copy>(front)) {
    offer_copy(stream);
    return true;  // likewise, until it is chosen
  }
  if (const auto* record = std::get_if<Stream::Record>(&front)) {
    model->synchronise(stream.rank);
    events[record->event] = {true, stream.known};
  }
  if (const auto* wait = std::get_if<Stream::Wait>(&front)) {
    const HappenedEvent& event = events[wait->event];
    if (!event.happened) return false;
    model->synchronise(stream.rank);
    HappensBefore::join(stream.known, event.known);
  }
  stream.work.pop_front();
  return true;
}

void Emulator::State::advance_all() {
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& stream : streams) moved |= advance(*stream);
  }
}

Trace Emulator::State::run() {
  for (int rank = 0; rank < ranks; ++rank) model->synchronise(rank);
  if (order != nullptr) order->host_wrote();
  for (const auto& stream : streams) HappensBefore::join(stream->known, host);
  advance_all();
  const auto all_done = [&] {
    for (const auto& stream : streams) {
      if (stream->live > 0) return false;
    }
    return true;
  };
  for (;;) {
    while (!runnable.empty()) run_one();
    if (all_done()) break;
    if (!model->settle()) break_hang();
  }
  for (const auto& stream : streams) {
    TALLY_CHECK(stream->work.empty(), "a stream waits for an event that cannot happen");
    HappensBefore::join(host, stream->known);
  }
  for (int rank = 0; rank < ranks; ++rank) model->synchronise(rank);
  hung = false;
  if (order != nullptr) {
    trace.races.assign(order->races().begin() + told_races, order->races().end());
    trace.stale_reads.assign(order->stale_reads().begin() + told_stale_reads,
                             order->stale_reads().end());
    told_races = std::ssize(order->races());
    told_stale_reads = std::ssize(order->stale_reads());
  }
  Trace done = std::exchange(trace, Trace{});
  trace.link_bytes.assign(ranks * ranks, 0);
  return done;
}

void Emulator::State::run_one() {
  int slot = std::exchange(chosen, -1);
  if (slot < 0) slot = choices.thread({runnable, -1, upcoming});
  if (engines[slot] != nullptr) return perform_copy(*engines[slot]);
  Thread& thread = *threads[slot];
  thread.fibre.resume();
  if (thread.fibre.finished()) thread_finished(thread);
}

void Emulator::State::thread_finished(Thread& thread) {
  runnable.erase(thread.place.slot);
  upcoming[thread.place.slot].access = nullptr;
  Block& block = thread.block;
  // Threads that returned take no part in the block's barriers any more.
  if (--block.live > 0 && static_cast<int>(block.arrived.size()) == block.live) open(block);
  Stream& stream = *block.stream;
  if (--stream.live > 0) return;
  model->kernel_ends(stream.rank, stream.places);
  if (order != nullptr) order->kernel_ends(stream.places, stream.known);
  stream.threads.clear();
  stream.blocks.clear();
  stream.places.clear();
  stream.work.pop_front();
  advance_all();
}

std::string Emulator::State::why_it_waits(const Thread& thread) const {
  std::ostringstream text;
  if (thread.waits_for != nullptr) {
    const void* address = thread.waits_for->address;
    std::uint64_t holds = 0;
    std::memcpy(&holds, address, thread.waits_for->bytes);
    text << name(thread.place.id) << " waits for " << memory.describe(address) << " to reach "
         << thread.target << "; it holds " << flag_in(holds, *thread.waits_for) << ", ";
    if (thread.has_looked && thread.last_seen != holds) {
      text << "but the last look saw " << flag_in(thread.last_seen, *thread.waits_for) << ", ";
    }
    const auto writer = writers.find(address);
    text << (writer == writers.end() ? "never written" : "last written by " + name(writer->second));
  } else if (thread.shuffles_among != 0) {
    text << name(thread.place.id) << " waits in a shuffle among " << thread.shuffles_among
         << " threads, to which not all of them come";
  }
  return text.str();
}

void Emulator::State::break_hang() {
  const bool is_first = !hung;
  if (is_first && settings.keeps_log) trace.log.push_back({Event::What::hang, {}, {}});
  hung = true;
  for (const auto& stream : streams) {
    for (const auto& thread : stream->threads) {
      if (thread->fibre.finished()) continue;
      const std::string why = is_first ? why_it_waits(*thread) : "";
      if (!why.empty()) trace.hang.push_back(why);
      make_runnable(*thread);
    }
    for (const auto& block : stream->blocks) {
      block->arrived.clear();
      block->shuffles.clear();
    }
  }
  waiters.clear();
  // Somebody waits for a flag or in a shuffle: a barrier opens when all live threads of its block
  // have arrived.
  TALLY_CHECK(!is_first || !trace.hang.empty(), "a hang without a wait");
}

}  // namespace tally::kernels::emulator
