#include <algorithm>
#include <sstream>

#include "kernels/emulator/access_names.h"
#include "kernels/emulator/emulator_state.h"
#include "model/check.h"

namespace tally::kernels::emulator {

void EmulatedGpu::load_bytes(const Access& access, void* value) {
  emulator_.load(self_, access, value);
}
void EmulatedGpu::store_bytes(const Access& access, const void* value) {
  emulator_.store(self_, access, value);
}
void EmulatedGpu::store_ordered(const Access& access, const void* value) {
  emulator_.store_ordered(self_, access, value);
}
std::uint64_t EmulatedGpu::update(const Access& access,
                                  const std::function<std::uint64_t(std::uint64_t)>& change) {
  return emulator_.update(self_, access, change);
}
bool EmulatedGpu::wait_bytes(const Access& access, std::uint64_t target,
                             const std::function<bool(const void*)>& holds, void* seen) {
  return emulator_.wait(self_, access, target, holds, seen);
}
void EmulatedGpu::fence_of(Order order, Scope scope, const Line& line) {
  emulator_.fence(self_, order, scope, line);
}
void EmulatedGpu::block_barrier(Line line) { emulator_.block_barrier(self_, line); }
std::uint32_t EmulatedGpu::shuffle_from(std::uint32_t value, int source, int width) {
  return emulator_.shuffle(self_, value, source, width);
}

void Emulator::State::pause(Thread& thread) {
  runnable.erase(thread.place.slot);
  upcoming[thread.place.slot].access = nullptr;
  thread.fibre.pause();
}

void Emulator::State::go_on(Thread& thread, const Access* access) {
  const int slot = thread.place.slot;
  upcoming[slot].access = access;
  const int next = choices.thread({runnable, slot, upcoming});
  if (next != slot) {
    chosen = next;
    thread.fibre.pause();
  }
}

void Emulator::State::access_point(Thread& thread, const Access& access) {
  go_on(thread, &access);
  model->breathe();
}

bool Emulator::State::in_bounds(const Thread& thread, const Access& access) {
  if (memory.find(access.address, access.bytes) != nullptr) return true;
  if (trace.out_of_bounds.size() < 10) {
    std::ostringstream text;
    text << name(thread.place.id) << ' ' << (access.writes() ? "writes" : "reads") << ' '
         << access.bytes << " bytes at " << memory.describe(access.address)
         << ", which is outside it";
    trace.out_of_bounds.push_back(text.str());
  }
  return memory.owner(access.address) >= 0;  // inside the arena it goes on, as hardware would
}

void Emulator::State::count_link(const Thread& thread, const Access& access) {
  const int owner = memory.owner(access.address), own = thread.place.id.rank;
  if (owner == own) return;
  trace.link_bytes[access.writes() ? own * ranks + owner : owner * ranks + own] += access.bytes;
}

void Emulator::State::log(Event::What what, const ThreadId& who, const Access& access,
                          const void* value) {
  if (!settings.keeps_log) return;
  Event event{what, who, access};
  if (value != nullptr) {
    std::memcpy(&event.value, value, std::min<std::size_t>(access.bytes, sizeof event.value));
  }
  trace.log.push_back(event);
  while (order != nullptr && logged_races < std::ssize(order->races())) {
    trace.log.push_back({Event::What::race, who, access});
    ++logged_races;
  }
}

void Emulator::State::load(Thread& thread, const Access& access, void* value) {
  if (!in_bounds(thread, access)) {
    std::fill_n(static_cast<std::byte*>(value), access.bytes, std::byte{0});
    return;
  }
  access_point(thread, access);
  count_link(thread, access);
  model->load(thread.place, access, value);
  if (order != nullptr) order->load(thread.place, access, value);
  log(Event::What::access, thread.place.id, access, value);
}

void Emulator::State::store(Thread& thread, const Access& access, const void* value) {
  if (!in_bounds(thread, access)) return;
  access_point(thread, access);
  count_link(thread, access);
  if (order != nullptr) order->store(thread.place, access, value);
  log(Event::What::access, thread.place.id, access, value);
  model->store(thread.place, access, value, 0);
}

void Emulator::State::store_ordered(Thread& thread, Access access, const void* value) {
  if (!mutate(Ordering::store_flag, access.site, access.order, access.scope)) return;
  if (!in_bounds(thread, access)) return;
  access_point(thread, access);
  if (is_packet(access)) count_link(thread, access);
  const StoreToken published = order != nullptr ? order->store(thread.place, access, value) : 0;
  log(Event::What::access, thread.place.id, access, value);
  StoreToken token;
  if (free_tokens.empty()) {
    under_way.emplace_back();
    token = static_cast<StoreToken>(under_way.size());
  } else {
    token = free_tokens.back();
    free_tokens.pop_back();
  }
  under_way[token - 1] = {thread.place.id, published};
  model->store(thread.place, access, value, token);
}

std::uint64_t Emulator::State::update(Thread& thread, const Access& access,
                                      const std::function<std::uint64_t(std::uint64_t)>& change) {
  if (!in_bounds(thread, access)) return 0;
  access_point(thread, access);
  const std::uint64_t before = model->update(thread.place, access, change);
  writers[access.address] = thread.place.id;
  if (order != nullptr) order->update(thread.place, access, change(before));
  log(Event::What::access, thread.place.id, access, &before);
  return before;
}

void Emulator::State::performed(const void* address, std::size_t bytes, StoreToken token) {
  if (token != 0) {
    const UnderWay& store = under_way[token - 1];
    writers[address] = store.writer;
    if (store.published != 0) order->performed(store.published);
    free_tokens.push_back(token);
  }
  if (!waiters.empty()) wake(address, bytes);
}

/// Strong memory's waits are over when their condition holds, and no earlier look at the flag
/// makes a difference. In a cache it does: each look is made.
bool Emulator::State::looks_again(const Thread& thread) const {
  return settings.memory != MemoryKind::strong || (*thread.holds)(thread.waits_for->address);
}

void Emulator::State::wake(const void* address, std::size_t bytes) {
  constexpr std::uintptr_t kLargest = 16;
  const auto begin = reinterpret_cast<std::uintptr_t>(address), end = begin + bytes;
  for (auto at = waiters.lower_bound(begin - kLargest); at != waiters.end() && at->first < end;) {
    std::erase_if(at->second, [&](Thread* waiting) {
      const bool overlaps = at->first + waiting->waits_for->bytes > begin;
      if (!overlaps || !looks_again(*waiting)) return false;
      make_runnable(*waiting);
      return true;
    });
    at = at->second.empty() ? waiters.erase(at) : std::next(at);
  }
}

bool Emulator::State::wait(Thread& thread, Access access, std::uint64_t target, const Holds& holds,
                           void* seen) {
  const bool is_kept = mutate(Ordering::wait, access.site, access.order, access.scope);
  if (!is_kept) access.order = Order::relaxed;
  if (!in_bounds(thread, access)) return false;
  thread.holds = &holds;
  thread.target = target;
  thread.has_looked = false;
  for (;;) {
    thread.waits_for = &access;
    if (!is_kept || hung || looks_again(thread)) {
      look(thread, access, seen);
      const bool is_over = holds(seen) || !is_kept;
      if (is_over) wait_is_over(thread, access, seen);
      if (is_over || hung) {
        thread.waits_for = nullptr;
        return is_over;
      }
      log(Event::What::access, thread.place.id, access, seen);  // and it waits on
    }
    waiters[reinterpret_cast<std::uintptr_t>(access.address)].push_back(&thread);
    pause(thread);
  }
}

void Emulator::State::look(Thread& thread, const Access& access, void* seen) {
  access_point(thread, access);
  model->load(thread.place, access, seen);
  if (order != nullptr) order->load(thread.place, access, seen);
  thread.has_looked = true;
  std::memcpy(&thread.last_seen, seen, access.bytes);
}

void Emulator::State::wait_is_over(Thread& thread, const Access& access, const void* seen) {
  if (is_packet(access)) count_link(thread, access);
  log(Event::What::wait, thread.place.id, access, seen);
  if (const auto writer = writers.find(access.address); writer != writers.end()) {
    const ThreadId &from = writer->second, &to = thread.place.id;
    ++trace.edges[{from.rank, from.block, to.rank, to.block}];
  }
}

void Emulator::State::fence(Thread& thread, Order how, Scope scope,
                            const std::source_location& site) {
  if (!mutate(Ordering::fence, site, how, scope)) return;
  const Access none{nullptr, 0, AccessKind::load, how, scope, site};
  access_point(thread, none);
  log(Event::What::fence, thread.place.id, none, nullptr);
  model->fence(thread.place, how, scope);
  if (order != nullptr) order->fence(thread.place, how, scope);
}

bool Emulator::State::mutate(Ordering ordering, const std::source_location& location, Order& how,
                             Scope& scope) {
  if (settings.keeps_log) trace.sites.insert(site_of(ordering, location, how, scope));
  if (!settings.mutation || settings.mutation->site.line != location.line()) return true;
  if (settings.mutation->site != site_of(ordering, location, how, scope)) return true;
  switch (settings.mutation->change) {
    case Change::drop:
      return false;
    case Change::relax:
      how = Order::relaxed;
      break;
    case Change::narrow:
      scope = scope == Scope::system ? Scope::agent : scope;
      break;
  }
  return ordering != Ordering::fence || how != Order::relaxed;
}

void Emulator::State::open(Block& block) {
  if (order != nullptr) {
    std::vector<int> slots;
    for (const Thread* one : block.arrived) slots.push_back(one->place.slot);
    order->block_barrier(slots);
  }
  for (Thread* waiting : block.arrived) make_runnable(*waiting);
  block.arrived.clear();
}

void Emulator::State::block_barrier(Thread& thread, const std::source_location& site) {
  Order how = Order::acq_rel;
  Scope scope = Scope::workgroup;
  if (!mutate(Ordering::block_barrier, site, how, scope)) return;
  log(Event::What::block_barrier, thread.place.id, {nullptr, 0, AccessKind::load, how, scope, site},
      nullptr);
  Block& block = thread.block;
  block.arrived.push_back(&thread);
  if (static_cast<int>(block.arrived.size()) < block.live) return pause(thread);
  open(block);
  go_on(thread, nullptr);
}

std::uint32_t Emulator::State::shuffle(Thread& thread, std::uint32_t value, int source, int width) {
  Block& block = thread.block;
  const int own = thread.place.id.thread, first = own / width * width;
  TALLY_CHECK(block.wave % width == 0 && block.threads % width == 0,
              "a shuffle is among whole groups of a wave");
  TALLY_CHECK(source >= first && source < first + width, "a shuffle reads its own group");
  if (width == 1) return value;
  thread.source = source;
  thread.given = thread.received = value;
  std::vector<Thread*>& arrived = block.shuffles[{first, width}];
  arrived.push_back(&thread);
  if (static_cast<int>(arrived.size()) < width) {
    thread.shuffles_among = width;
    pause(thread);
    thread.shuffles_among = 0;
    return thread.received;
  }
  for (Thread* reader : arrived) {
    for (const Thread* one : arrived) {
      if (one->place.id.thread == reader->source) reader->received = one->given;
    }
    if (reader != &thread) make_runnable(*reader);
  }
  arrived.clear();
  return thread.received;
}

}  // namespace tally::kernels::emulator
