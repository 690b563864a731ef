#pragma once

// What the detector remembers of every byte of the virtual GPUs' memory: the last accesses, and
// the newest value. Bytes are remembered in cells, which are as large as all accesses allow: a
// granule of 16 bytes is one cell until an access covers a part of it only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "kernels/emulator/access.h"
#include "kernels/emulator/memory.h"

namespace tally::kernels::emulator {

/// An access, by the time of its slot's clock.
struct Stamp {
  std::uint32_t clock;
  std::uint16_t slot;
  std::uint8_t bytes;
  AccessKind kind : 2;
  Order order : 3;
  Scope scope : 2;
  std::source_location site;
  bool writes() const { return kind != AccessKind::load; }
};

class Shadow {
 public:
  static constexpr std::size_t kGranule = 16;

  explicit Shadow(const Memory& memory)
      : arena_(memory.arena()), pages_((memory.arena_bytes() + kPage - 1) / kPage) {}

  /// Whether all of it is inside the arena: only such bytes are remembered.
  bool covers(const void* address, std::size_t bytes) const {
    const std::size_t offset = offset_of(address), end = pages_.size() * kPage;
    return offset < end && bytes <= end - offset;
  }

  /// Adds `now` to the accesses of each of the bytes. keeps(earlier, first byte of the cell) says
  /// of each access that is remembered whether it is still.
  template <class Keeps>
  void record(const void* address, const Stamp& now, Keeps&& keeps) {
    for (std::size_t offset = offset_of(address), end = offset + now.bytes; offset < end;) {
      Granule& granule = granule_at(offset);
      const std::size_t first = offset % kGranule, last = std::min(kGranule, end - offset + first);
      if ((first | last) % granule.cell_bytes != 0) split(granule, first, last);
      for (std::size_t byte = first; byte < last; byte += granule.cell_bytes) {
        replace(list_of(granule, byte), now, keeps, arena_ + (offset - first + byte));
      }
      offset += last - first;
    }
  }

  /// The newest bytes by the order in which the stores were issued.
  void write(const void* address, std::size_t bytes, const void* value);
  bool is_newest(const void* address, std::size_t bytes, const void* value);
  /// Home memory holds the newest bytes now.
  void reread() { ++reading_; }

  /// A number for the granule that holds the address, 0 at first; its meaning is the caller's.
  std::uint32_t& mark(const void* address) { return granule_at(offset_of(address)).mark; }

 private:
  static constexpr std::size_t kPage = 1024;

  struct Granule {
    std::uint32_t accesses = 0;  // a list, or lists_[accesses] where there are several cells
    std::uint32_t mark = 0;
    std::uint32_t read = 0;  // the value of reading_ when its newest bytes came from home memory
    std::uint8_t cell_bytes = kGranule;
  };
  struct Page {
    std::array<Granule, kPage / kGranule> granules;
    std::array<std::byte, kPage> newest;
  };
  struct Node {
    Stamp stamp;
    std::uint32_t next;
  };
  using Lists = std::array<std::uint32_t, kGranule>;  // by the cell's first byte

  std::size_t offset_of(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(arena_);
  }
  Page& page_at(std::size_t offset) {
    std::unique_ptr<Page>& page = pages_[offset / kPage];
    if (page == nullptr) page.reset(new Page);
    return *page;
  }
  Granule& granule_at(std::size_t offset) {
    return page_at(offset).granules[offset % kPage / kGranule];
  }
  std::uint32_t& list_of(Granule& granule, std::size_t byte) {
    return granule.cell_bytes == kGranule ? granule.accesses : lists_[granule.accesses][byte];
  }
  std::byte* newest(std::size_t offset);
  void split(Granule& granule, std::size_t first, std::size_t last);
  std::uint32_t copy(std::uint32_t list);

  std::uint32_t take_node() {
    if (free_ == 0) {
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    return node;
  }
  template <class Keeps>
  void replace(std::uint32_t& list, const Stamp& now, Keeps& keeps, const std::byte* cell) {
    std::uint32_t spare = 0;
    for (std::uint32_t* link = &list; *link != 0;) {
      const std::uint32_t node = *link;
      if (keeps(std::as_const(nodes_[node].stamp), cell)) {
        link = &nodes_[node].next;
        continue;
      }
      *link = nodes_[node].next;
      if (spare != 0) nodes_[spare].next = free_, free_ = spare;
      spare = node;
    }
    if (spare == 0) spare = take_node();
    nodes_[spare] = {now, list};
    list = spare;
  }

  const std::byte* arena_;
  std::vector<std::unique_ptr<Page>> pages_;  // made when first touched
  std::vector<Node> nodes_{1};                // node 0 ends a list
  std::vector<Lists> lists_;
  std::uint32_t free_ = 0;
  std::uint32_t reading_ = 1;
};

}  // namespace tally::kernels::emulator
