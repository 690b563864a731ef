#pragma once

// Stores that were asked for and are not performed: a queue for each workgroup, whose requests to
// the same bytes stay in order, while those to different bytes pass each other. No two XCDs have
// anything under way to one byte: whoever writes it lets the other's arrive first, or is in home
// memory itself before the other's arrives.

#include <vector>

#include "kernels/emulator/cache.h"

namespace tally::kernels::emulator {

/// What an access touches of one line.
struct Piece {
  CacheLine* line;
  unsigned first, bytes;
  unsigned offset;  // in the access
  ByteMask mask() const { return mask_of(first, bytes); }
  bool overlaps(const Piece& other) const {
    return line == other.line && (mask() & other.mask()) != 0;
  }
};

struct StoreUnderWay {
  Piece piece;
  int wave;
  bool through;     // reaches home memory when performed, else its L2
  bool is_awaited;  // somebody may sleep until it is performed
  StoreToken token;
  bool is_performed = false;
  std::byte value[16] = {};
};

class StoreQueues {
 public:
  StoreQueues(Caches& caches, MemoryListener& listener, Choices& choices)
      : caches_(caches), listener_(listener), choices_(choices) {}

  /// Behind the others of the workgroup. A queue that grows too long moves up.
  void push(const Place& who, const StoreUnderWay& store);
  /// What a load past the L1 gives as things are: the workgroup's own stores are ahead of it.
  void look(const Place& who, const Piece& piece, std::byte* value);

  /// Performs those stores of a workgroup, each behind older ones to the same bytes; whether there
  /// were any.
  template <class Which>
  bool perform(const Place& who, Which which) {
    return perform_in(queue(who), which);
  }
  void perform_all(const Place& who) {
    perform(who, [](const StoreUnderWay&) { return true; });
  }
  /// Those that write bytes of the piece.
  void perform(const Place& who, const Piece& piece);
  /// Those to the line.
  void perform(const Place& who, const CacheLine& line);
  /// All stores of everybody; whether there were any.
  bool perform_all();

  int awaited() const { return awaited_; }
  void perform_awaited(int number);

  /// What other workgroups and L2s have under way to these bytes arrives in home memory first, or
  /// in this thread's own L2 where it is bound for it; or it is late. Whether nothing was late.
  bool others_arrive(const Place& who, const Piece& piece);

 private:
  struct Queue {
    int l2 = 0;
    std::vector<StoreUnderWay> stores;  // in the order of the program
  };
  Queue& queue(const Place& who);
  void perform_one(const Queue& queue, StoreUnderWay& store);
  void perform_in_turn(Queue& queue, std::size_t index);

  template <class Which>
  bool perform_in(Queue& queue, Which which) {
    const std::size_t before = queue.stores.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (!queue.stores[i].is_performed && which(queue.stores[i])) perform_in_turn(queue, i);
    }
    std::erase_if(queue.stores, [](const StoreUnderWay& one) { return one.is_performed; });
    return queue.stores.size() != before;
  }

  Caches& caches_;
  MemoryListener& listener_;
  Choices& choices_;
  std::vector<Queue> queues_;  // [workgroup]
  int awaited_ = 0;
};

}  // namespace tally::kernels::emulator
