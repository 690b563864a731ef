#include "verify/device_buffers.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "model/check.h"
#include "verify/send_counts.h"

namespace tally::verify {
namespace {

using kernels::hardware::Stream;

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

/// Puts buffers one behind the other, with guards around them.
class Arena {
 public:
  explicit Arena(BufferLayout& layout) : layout_(layout) {}

  Zone add(std::size_t bytes, std::size_t shift, std::string name) {
    const std::size_t begin = aligned(end_ + kGuardBytes) + shift;
    layout_.guards.push_back({end_, begin});
    layout_.buffers.push_back(std::move(name));
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

/// The call whose sizes, and at first whose contents, the buffers of number `i` have.
int call_of(const Case& c, int i) { return i < std::ssize(c.counts) ? i : 0; }

void add_call(const Case& c, int rank, int i, Arena& arena, BufferLayout& layout) {
  const int call = call_of(c, i);
  const auto name = [&](const char* buffer) {
    return std::string(buffer) + " of rank " + std::to_string(rank) +
           (i == call ? " in call " + std::to_string(call) : " in the graph");
  };
  const std::size_t element = c.arithmetic.element.bytes();
  const std::size_t shift = c.placement == Placement::misaligned ? element : 0;
  const std::size_t input = element * c.input_elements(call);
  const std::size_t output = element * c.output_elements(call);
  BufferLayout::Call& zones = layout.calls.emplace_back();
  if (c.placement != Placement::in_place) {
    zones.input = arena.add(input, shift, name("input"));
    zones.output = arena.add(output, shift, name("output"));
  } else {
    const Zone larger = arena.add(std::max(input, output), shift, name("buffer"));
    const std::size_t begin =
        larger.begin + element * model::in_place_offset(c.collective, rank, c.counts[call]);
    const Zone smaller{begin, begin + std::min(input, output)};
    zones.input = input < output ? smaller : larger;
    zones.output = input < output ? larger : smaller;
  }
  if (c.collective != model::Collective::all_to_all_v) return;
  zones.sent = arena.add(c.ranks * sizeof(std::int64_t), 0, name("send counts"));
  zones.received = arena.add(c.ranks * sizeof(std::int64_t), 0, name("received counts"));
}

/// What the rank's send counts are, as they lie in memory.
std::vector<std::byte> sent_bytes(const Case& c, int rank, int call) {
  const std::vector<std::int64_t> all = verify::send_counts(c, call);
  const auto row = std::as_bytes(std::span(all).subspan(rank * c.ranks, c.ranks));
  return {row.begin(), row.end()};
}

}  // namespace

BufferLayout lay_out_buffers(const Case& c, int rank) {
  BufferLayout layout;
  Arena arena(layout);
  const int calls = static_cast<int>(c.counts.size()) + (c.graph ? 1 : 0);
  for (int i = 0; i < calls; ++i) add_call(c, rank, i, arena, layout);
  arena.finish();
  return layout;
}

Observation unwritten(const Case& c) {
  Observation seen;
  for (int call = 0; call < std::ssize(c.counts); ++call) {
    const std::int64_t bytes = c.output_elements(call) * c.arithmetic.element.bytes();
    seen.outputs.emplace_back(c.ranks, std::vector<std::byte>(bytes, kPoison));
  }
  return seen;
}

DeviceBuffers::~DeviceBuffers() { release(); }

void DeviceBuffers::release() {
  if (arena_ != nullptr) runtime_.free(arena_);
  if (image_ != nullptr) runtime_.free_host(image_);
  arena_ = image_ = nullptr;
  capacity_ = 0;
}

bool DeviceBuffers::prepare(const Case& c, int rank) {
  case_ = c;
  rank_ = rank;
  layout_ = lay_out_buffers(c, rank);
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

const std::int64_t* DeviceBuffers::send_counts(int call) const {
  const Zone& zone = layout_.calls[call].sent;
  return zone.bytes() == 0 ? nullptr : reinterpret_cast<const std::int64_t*>(arena_ + zone.begin);
}

std::int64_t* DeviceBuffers::received_counts(int call) const {
  const Zone& zone = layout_.calls[call].received;
  return zone.bytes() == 0 ? nullptr : reinterpret_cast<std::int64_t*>(arena_ + zone.begin);
}

void DeviceBuffers::upload(const std::vector<reference::RankBuffers>& inputs, Stream stream) {
  const auto fill = [&](const Zone& zone, std::byte value) {
    std::memset(image(zone), std::to_integer<int>(value), zone.bytes());
  };
  for (const Zone& guard : layout_.guards) fill(guard, kGuard);
  for (int i = 0; i < std::ssize(layout_.calls); ++i) {
    const BufferLayout::Call& zones = layout_.calls[i];
    const auto& input = inputs[call_of(case_, i)][rank_];
    TALLY_CHECK(input.size() == zones.input.bytes(), "an input has another size");
    fill(zones.output, kPoison);
    std::copy(input.begin(), input.end(), image(zones.input));
    if (zones.sent.bytes() == 0) continue;
    const auto sent = sent_bytes(case_, rank_, call_of(case_, i));
    std::copy(sent.begin(), sent.end(), image(zones.sent));
    fill(zones.received, kPoison);
  }
  runtime_.copy(arena_, image_, layout_.bytes, stream);
}

void DeviceBuffers::copy(const Zone& to, const Zone& from, Stream stream) {
  if (to.bytes() > 0) runtime_.copy(arena_ + to.begin, arena_ + from.begin, to.bytes(), stream);
}

void DeviceBuffers::copy_in(int call, Stream stream) {
  const BufferLayout::Call &to = layout_.calls[captured()], &from = layout_.calls[call];
  copy(to.output, from.output, stream);
  copy(to.input, from.input, stream);
  copy(to.sent, from.sent, stream);
  copy(to.received, from.received, stream);
}

void DeviceBuffers::copy_out(int call, Stream stream) {
  const BufferLayout::Call &to = layout_.calls[call], &from = layout_.calls[captured()];
  copy(to.output, from.output, stream);
  copy(to.received, from.received, stream);
}

void DeviceBuffers::download(Stream stream) {
  runtime_.copy(image_, arena_, layout_.bytes, stream);
}

void DeviceBuffers::collect(const std::vector<reference::RankBuffers>& inputs,
                            Observation& seen) const {
  const int calls = static_cast<int>(inputs.size());
  for (int i = 0; i < std::ssize(layout_.calls); ++i) {
    const int call = std::min(i, calls - 1);  // a graph holds what the last replay found
    const BufferLayout::Call& zones = layout_.calls[i];
    const auto is_changed = [&](const Zone& zone, const std::vector<std::byte>& given) {
      return !std::equal(given.begin(), given.end(), image(zone));
    };
    const std::string where = " of rank " + std::to_string(rank_) +
                              (i == call ? " in call " + std::to_string(call) : " in the graph");
    if (case_.placement != Placement::in_place && is_changed(zones.input, inputs[call][rank_])) {
      seen.broken.push_back("the input" + where + " was modified");
    }
    if (i == call) {
      seen.outputs[i][rank_].assign(image(zones.output), image_ + zones.output.end);
    }
    if (zones.sent.bytes() == 0) continue;
    if (is_changed(zones.sent, sent_bytes(case_, rank_, call))) {
      seen.broken.push_back("the send counts" + where + " were modified");
    }
    std::vector<std::int64_t> received(case_.ranks);
    std::memcpy(received.data(), image(zones.received), zones.received.bytes());
    check_received_counts(case_, call, rank_, received, seen);
  }
  collect_guards(seen);
}

void DeviceBuffers::collect_guards(Observation& seen) const {
  const std::size_t last = layout_.guards.size() - 1;
  for (std::size_t g = 0; g <= last; ++g) {
    const auto* first = image(layout_.guards[g]);
    const auto* end = image_ + layout_.guards[g].end;
    const auto* written = std::find_if(first, end, [](std::byte b) { return b != kGuard; });
    if (written == end) continue;
    const bool is_behind = g == last || (g > 0 && 2 * (written - first) < end - first);
    const auto distance = is_behind ? written - first : end - written;
    seen.broken.push_back(std::string("the guard zone ") + (is_behind ? "behind" : "before") +
                          " the " + layout_.buffers[is_behind ? g - 1 : g] + " was written, " +
                          std::to_string(distance) + " bytes from it");
  }
}

}  // namespace tally::verify
