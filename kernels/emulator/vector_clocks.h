#pragma once

// Vector clocks, one for each slot, in one block of memory: how far each slot had come in what the
// slot's thread knows of (Mattern 1989). A slot's own time moves on after each of its releases.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tally::kernels::emulator {

/// A clock as it was, shared by all that it was published to.
using Snapshot = std::shared_ptr<const std::vector<std::uint32_t>>;

class VectorClocks {
 public:
  /// What the slots knew stays known.
  void resize(int slots) {
    const std::size_t stride = (slots + kLanes - 1) / kLanes * kLanes;
    std::vector<std::uint32_t> rows(slots * stride);
    for (int slot = 0; slot < slots; ++slot) rows[slot * stride + slot] = 1;
    for (int slot = 0; slot < std::min(slots, slots_); ++slot) {
      std::copy_n(row(slot), std::min(stride, stride_), rows.data() + slot * stride);
    }
    slots_ = slots;
    stride_ = stride;
    rows_ = std::move(rows);
    meeting_.assign(stride, 0);
  }
  int slots() const { return slots_; }

  /// What `slot` knows of `other`'s time; of its own it is the time, which is at least 1.
  std::uint32_t at(int slot, int other) const { return rows_[slot * stride_ + other]; }
  std::uint32_t time(int slot) const { return at(slot, slot); }
  void tick(int slot) { ++rows_[slot * stride_ + slot]; }

  Snapshot snapshot(int slot) const {
    return std::make_shared<const std::vector<std::uint32_t>>(row(slot), row(slot) + stride_);
  }
  /// A clock from before a resize knows nothing of the slots that it has no time of.
  void join(int slot, std::span<const std::uint32_t> known) {
    raise(row(slot), known.data(), std::min(stride_, known.size()));
  }
  void join_into(std::vector<std::uint32_t>& known, int slot) const {
    if (known.size() < stride_) known.resize(stride_);
    raise(known.data(), row(slot), stride_);
  }
  /// All of them learn what any of them knows, and go on.
  void meet(std::span<const int> slots) {
    std::fill(meeting_.begin(), meeting_.end(), 0);
    for (const int slot : slots) raise(meeting_.data(), row(slot), stride_);
    for (const int slot : slots) {
      std::copy_n(meeting_.data(), stride_, row(slot));
      tick(slot);
    }
  }

  static void raise(std::uint32_t* __restrict__ times, const std::uint32_t* __restrict__ by,
                    std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) times[i] = std::max(times[i], by[i]);
  }

 private:
  static constexpr int kLanes = 16;  // rows begin at multiples, so that the joins are vectorised

  std::uint32_t* row(int slot) { return rows_.data() + slot * stride_; }
  const std::uint32_t* row(int slot) const { return rows_.data() + slot * stride_; }

  int slots_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::uint32_t> rows_, meeting_;
};

}  // namespace tally::kernels::emulator
