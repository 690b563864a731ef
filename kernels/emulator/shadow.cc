#include "kernels/emulator/shadow.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tally::kernels::emulator {

std::byte* Shadow::newest(std::size_t offset) {
  Page& page = page_at(offset);
  Granule& granule = page.granules[offset % kPage / kGranule];
  if (granule.read != reading_) {
    const std::size_t first = offset / kGranule * kGranule;
    std::memcpy(page.newest.data() + first % kPage, arena_ + first, kGranule);
    granule.read = reading_;
  }
  return page.newest.data() + offset % kPage;
}

void Shadow::write(const void* address, std::size_t bytes, const void* value) {
  const std::size_t offset = offset_of(address);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(kGranule - (offset + done) % kGranule, bytes - done);
    std::memcpy(newest(offset + done), static_cast<const std::byte*>(value) + done, part);
    done += part;
  }
}

bool Shadow::is_newest(const void* address, std::size_t bytes, const void* value) {
  const std::size_t offset = offset_of(address);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(kGranule - (offset + done) % kGranule, bytes - done);
    const auto* seen = static_cast<const std::byte*>(value) + done;
    if (std::memcmp(newest(offset + done), seen, part) != 0) return false;
    done += part;
  }
  return true;
}

void Shadow::split(Granule& granule, std::size_t first, std::size_t last) {
  const auto cell_bytes = static_cast<std::uint8_t>(1 << std::countr_zero(first | last));
  Lists lists{};
  for (std::size_t byte = 0; byte < kGranule; byte += cell_bytes) {
    const std::size_t old_cell = byte / granule.cell_bytes * granule.cell_bytes;
    const std::uint32_t list = list_of(granule, old_cell);
    lists[byte] = byte == old_cell ? list : copy(list);
  }
  if (granule.cell_bytes == kGranule) {
    granule.accesses = static_cast<std::uint32_t>(lists_.size());
    lists_.emplace_back();
  }
  lists_[granule.accesses] = lists;
  granule.cell_bytes = cell_bytes;
}

std::uint32_t Shadow::copy(std::uint32_t list) {
  std::uint32_t copied = 0;
  for (; list != 0; list = nodes_[list].next) {
    const std::uint32_t node = take_node();
    nodes_[node] = {nodes_[list].stamp, copied};
    copied = node;
  }
  return copied;
}

}  // namespace tally::kernels::emulator
