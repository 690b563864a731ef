#include "kernels/emulator/store_queues.h"

#include <algorithm>
#include <cstring>

namespace tally::kernels::emulator {

StoreQueues::Queue& StoreQueues::queue(const Place& who) {
  if (who.workgroup >= static_cast<int>(queues_.size())) queues_.resize(who.workgroup + 1);
  Queue& own = queues_[who.workgroup];
  own.l2 = caches_.l2_of(who);
  return own;
}

void StoreQueues::push(const Place& who, const StoreUnderWay& store) {
  constexpr std::size_t kMost = 32;
  Queue& own = queue(who);
  if (own.stores.size() == kMost) {
    std::size_t left = kMost / 2;
    perform_in(own, [&](const StoreUnderWay&) { return left > 0 && left-- > 0; });
  }
  own.stores.push_back(store);
  ++store.piece.line->under_way;
  store.piece.line->bytes_under_way |= store.piece.mask();
  awaited_ += store.is_awaited;
}

void StoreQueues::look(const Place& who, const Piece& piece, std::byte* value) {
  Queue& own = queue(who);
  caches_.look(*piece.line, own.l2, piece.first, piece.bytes, value);
  if ((piece.line->bytes_under_way & piece.mask()) == 0) return;
  for (const StoreUnderWay& store : own.stores) {
    if (!store.piece.overlaps(piece)) continue;
    const unsigned begin = std::max(store.piece.first, piece.first);
    const unsigned end = std::min(store.piece.first + store.piece.bytes, piece.first + piece.bytes);
    std::memcpy(value + (begin - piece.first), store.value + (begin - store.piece.first),
                end - begin);
  }
}

void StoreQueues::perform_in_turn(Queue& queue, std::size_t index) {
  for (std::size_t older = 0; older < index; ++older) {
    const bool overlaps = queue.stores[older].piece.overlaps(queue.stores[index].piece);
    if (!queue.stores[older].is_performed && overlaps) perform_in_turn(queue, older);
  }
  perform_one(queue, queue.stores[index]);
}

void StoreQueues::perform_one(const Queue& queue, StoreUnderWay& store) {
  CacheLine& line = *store.piece.line;
  const unsigned first = store.piece.first, bytes = store.piece.bytes;
  if (store.through) {
    caches_.write_home(line, queue.l2, first, bytes, store.value);
  } else {
    caches_.write_l2(line, queue.l2, first, bytes, store.value);
  }
  if (--line.under_way == 0) line.bytes_under_way = 0;
  awaited_ -= store.is_awaited;
  store.is_performed = true;
  listener_.performed(line.home + first, bytes, store.token);
}

void StoreQueues::perform(const Place& who, const Piece& piece) {
  if ((piece.line->bytes_under_way & piece.mask()) == 0) return;
  perform(who, [&](const StoreUnderWay& one) { return one.piece.overlaps(piece); });
}

void StoreQueues::perform(const Place& who, const CacheLine& line) {
  if (line.under_way == 0) return;
  perform(who, [&](const StoreUnderWay& one) { return one.piece.line == &line; });
}

bool StoreQueues::perform_all() {
  bool any = false;
  for (Queue& one : queues_) any |= perform_in(one, [](const StoreUnderWay&) { return true; });
  return any;
}

void StoreQueues::perform_awaited(int number) {
  for (Queue& one : queues_) {
    const auto chosen =
        std::find_if(one.stores.begin(), one.stores.end(),
                     [&](const StoreUnderWay& store) { return store.is_awaited && number-- == 0; });
    if (chosen == one.stores.end()) continue;
    const StoreUnderWay* only = &*chosen;
    perform_in(one, [&](const StoreUnderWay& store) { return &store == only; });
    return;
  }
}

bool StoreQueues::others_arrive(const Place& who, const Piece& piece) {
  CacheLine& line = *piece.line;
  const ByteMask bytes = piece.mask();
  const int own_l2 = caches_.l2_of(who);
  ByteMask late = 0;
  // What is behind something late to the same bytes is late too.
  const auto is_late = [&](ByteMask written) {
    if ((written & late) == 0 && choices_.memory(2, MemoryChoice::delay) == 0) return false;
    late |= written;
    return true;
  };
  for (CachedCopy* copy = line.l2; line.dirty > 0 && copy != nullptr; copy = copy->next) {
    const ByteMask dirty = copy->dirty & bytes;
    if (copy->cache != own_l2 && dirty != 0 && !is_late(dirty)) caches_.write_back(*copy);
  }
  if ((line.bytes_under_way & bytes) == 0) return late == 0;
  const Queue* own = &queue(who);
  for (Queue& other : queues_) {
    if (&other == own) continue;
    const bool any = perform_in(other, [&](const StoreUnderWay& store) {
      return store.piece.overlaps(piece) && !is_late(store.piece.mask());
    });
    CachedCopy* copy = any && other.l2 != own_l2 ? caches_.l2(line, other.l2) : nullptr;
    if (copy != nullptr) caches_.write_back(*copy, bytes & ~late);
  }
  return late == 0;
}

}  // namespace tally::kernels::emulator
