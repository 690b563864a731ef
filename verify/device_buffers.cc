#include "verify/device_buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/check.h"

namespace tally::verify {
namespace {

using kernels::hardware::Stream;
using model::Collective;

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

/// Where the smaller of two buffers that share memory lies in the larger, in elements: as NCCL has
/// it, a rank's block is where it belongs.
std::int64_t in_place_offset(Collective collective, int rank, std::int64_t count) {
  const bool is_block =
      collective == Collective::all_gather || collective == Collective::reduce_scatter;
  return is_block ? rank * count : 0;
}

/// Puts buffers one behind the other, with guards around them.
class Arena {
 public:
  explicit Arena(BufferLayout& layout) : layout_(layout) {}

  Zone add(std::size_t bytes, std::size_t shift) {
    const std::size_t begin = aligned(end_ + kGuardBytes) + shift;
    layout_.guards.push_back({end_, begin});
    end_ = begin + bytes;
    return {begin, end_};
  }
  void finish() {
    layout_.bytes = aligned(end_ + kGuardBytes);
    layout_.guards.push_back({end_, layout_.bytes});
  }

 private:
  BufferLayout& layout_;
  std::size_t end_ = 0;
};

}  // namespace

BufferLayout lay_out_buffers(const Case& c, int rank) {
  const std::size_t element = model::format(c.arithmetic.element).bytes();
  const std::size_t shift = c.placement == Placement::misaligned ? element : 0;
  std::vector<std::int64_t> counts = c.counts;
  if (c.graph) counts.push_back(counts.at(0));
  BufferLayout layout;
  Arena arena(layout);
  for (const std::int64_t count : counts) {
    const std::size_t input = element * model::input_elements(c.collective, c.ranks, count);
    const std::size_t output = element * model::output_elements(c.collective, c.ranks, count);
    BufferLayout::Call& call = layout.calls.emplace_back();
    if (c.placement != Placement::in_place) {
      call.input = arena.add(input, shift);
      call.output = arena.add(output, shift);
      continue;
    }
    const Zone larger = arena.add(std::max(input, output), shift);
    const std::size_t begin = larger.begin + element * in_place_offset(c.collective, rank, count);
    const Zone smaller{begin, begin + std::min(input, output)};
    call =
        input < output ? BufferLayout::Call{smaller, larger} : BufferLayout::Call{larger, smaller};
  }
  arena.finish();
  return layout;
}

DeviceBuffers::~DeviceBuffers() { release(); }

void DeviceBuffers::release() {
  if (arena_ != nullptr) runtime_.free(arena_);
  if (image_ != nullptr) runtime_.free_host(image_);
  arena_ = image_ = nullptr;
  capacity_ = 0;
}

bool DeviceBuffers::prepare(const Case& c, int rank) {
  layout_ = lay_out_buffers(c, rank);
  is_in_place_ = c.placement == Placement::in_place;
  is_graph_ = c.graph;
  rank_ = rank;
  if (layout_.bytes <= capacity_) return true;
  release();
  arena_ = static_cast<std::byte*>(runtime_.allocate(layout_.bytes));
  image_ = static_cast<std::byte*>(runtime_.allocate_host(layout_.bytes));
  if (arena_ == nullptr || image_ == nullptr) {
    release();
    return false;
  }
  capacity_ = layout_.bytes;
  return true;
}

void DeviceBuffers::upload(const std::vector<reference::RankBuffers>& inputs, Stream stream) {
  for (const Zone& guard : layout_.guards) {
    std::memset(image_ + guard.begin, std::to_integer<int>(kGuard), guard.bytes());
  }
  for (std::size_t i = 0; i < layout_.calls.size(); ++i) {
    const BufferLayout::Call& call = layout_.calls[i];
    std::memset(image_ + call.output.begin, std::to_integer<int>(kPoison), call.output.bytes());
    const auto& input = inputs[i % inputs.size()][rank_];
    TALLY_CHECK(input.size() == call.input.bytes(), "an input has another size");
    std::copy(input.begin(), input.end(), image_ + call.input.begin);
  }
  runtime_.copy(arena_, image_, layout_.bytes, stream);
}

void DeviceBuffers::copy_captured(Zone captured, Zone of_call, bool is_in, Stream stream) {
  if (captured.bytes() == 0) return;
  std::byte *to = arena_ + captured.begin, *from = arena_ + of_call.begin;
  if (!is_in) std::swap(to, from);
  runtime_.copy(to, from, captured.bytes(), stream);
}

void DeviceBuffers::copy_in(int call, Stream stream) {
  const BufferLayout::Call &mine = layout_.calls[captured()], &other = layout_.calls[call];
  copy_captured(mine.output, other.output, true, stream);
  copy_captured(mine.input, other.input, true, stream);
}

void DeviceBuffers::copy_out(int call, Stream stream) {
  copy_captured(layout_.calls[captured()].output, layout_.calls[call].output, false, stream);
}

void DeviceBuffers::download(Stream stream) {
  runtime_.copy(image_, arena_, layout_.bytes, stream);
}

void DeviceBuffers::collect(const std::vector<reference::RankBuffers>& inputs,
                            Observation& seen) const {
  const auto whose = [&](std::size_t i, const char* buffer) {
    const bool is_captured = is_graph_ && static_cast<int>(i) == captured();
    return std::string(buffer) + " of rank " + std::to_string(rank_) +
           (is_captured ? " in the graph" : " in call " + std::to_string(i));
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Zone& output = layout_.calls[i].output;
    seen.outputs[i][rank_].assign(image_ + output.begin, image_ + output.end);
  }
  for (std::size_t i = 0; i < layout_.calls.size(); ++i) {
    const Zone& input = layout_.calls[i].input;
    const auto& given =
        inputs[std::min(i, inputs.size() - 1)][rank_];  // a graph: the last replay's
    if (!is_in_place_ && !std::equal(given.begin(), given.end(), image_ + input.begin)) {
      seen.broken.push_back("the " + whose(i, "input") + " was modified");
    }
  }
  // Guard g lies behind buffer g - 1 and before buffer g.
  const std::size_t each = is_in_place_ ? 1 : 2, last = layout_.guards.size() - 1;
  for (std::size_t g = 0; g <= last; ++g) {
    const auto* first = image_ + layout_.guards[g].begin;
    const auto* end = image_ + layout_.guards[g].end;
    const auto* written = std::find_if(first, end, [](std::byte b) { return b != kGuard; });
    if (written == end) continue;
    const bool is_behind = g == last || (g > 0 && 2 * (written - first) < end - first);
    const std::size_t buffer = is_behind ? g - 1 : g;
    const char* name = is_in_place_ ? "buffer" : buffer % 2 == 0 ? "input" : "output";
    const auto distance = is_behind ? written - first : end - written;
    seen.broken.push_back(std::string("the guard zone ") + (is_behind ? "behind" : "before") +
                          " the " + whose(buffer / each, name) + " was written, " +
                          std::to_string(distance) + " bytes from it");
  }
}

}  // namespace tally::verify
