#include "sim/closed_forms.h"

#include <algorithm>
#include <bit>

#include "model/check.h"
#include "model/partition.h"

namespace tally::sim {
namespace {

using model::ceil_divide;

Picos known_time(std::int64_t bytes, double bytes_per_s) {
  return bytes == 0 || bytes_per_s == 0 ? Picos{} : transfer_time(bytes, bytes_per_s);
}

/// alpha, where there is anybody to meet.
Picos meeting(const Terms& t) { return t.ranks > 1 ? t.alpha : Picos{}; }

std::int64_t converted(const Terms& t, std::int64_t bytes) {
  return t.wire_bytes == t.bytes ? 0 : bytes;
}

/// Elements to codes, or codes to elements, in a rank's own memory.
Picos convert_all(const Terms& t, std::int64_t blocks = 1) {
  return step_time(t, {0, blocks * (t.bytes + t.wire_bytes), converted(t, blocks * t.bytes)});
}

/// What folding adds before and after: steps of everything with a partner.
struct Folded {
  int active;  // the largest power of two
  bool any;
};
Folded folded(int count) {
  const auto active = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  return {active, active != count};
}

/// Halving and doubling of `bytes` (as codes `wire_bytes`) between nodes, over the network.
Picos between_nodes(const Terms& t, int nodes, std::int64_t bytes, std::int64_t wire_bytes) {
  Terms network = t;
  network.link_bytes_per_s = t.network_bytes_per_s;
  const auto add = [&](std::int64_t part, std::int64_t codes) {
    return t.network_alpha + step_time(network, {codes, 3 * codes, converted(t, 3 * part)});
  };
  const auto fetch = [&](std::int64_t codes) {
    return t.network_alpha + step_time(network, {codes, 2 * codes, 0});
  };
  const auto [active, any_folded] = folded(nodes);
  Picos total;
  if (any_folded) total += add(bytes, wire_bytes) + fetch(wire_bytes);
  for (int distance = active / 2; distance >= 1; distance /= 2) {
    const std::int64_t codes = ceil_divide(wire_bytes * distance, active);
    total += add(ceil_divide(bytes * distance, active), codes) + fetch(codes);
  }
  return total;
}

}  // namespace

Picos step_time(const Terms& terms, const StepBytes& bytes) {
  return std::max({known_time(bytes.link, terms.link_bytes_per_s),
                   known_time(bytes.memory, terms.memory_bytes_per_s),
                   known_time(bytes.codec, terms.codec_bytes_per_s)});
}

Picos flat_time(const Terms& t) {
  const std::int64_t p = t.ranks, w = t.wire_bytes;
  const StepBytes sum{p > 1 ? w : 0, p * w + t.bytes, converted(t, p * t.bytes)};
  return t.launch + convert_all(t) + step_time(t, sum) + 2 * meeting(t);
}

Picos flat_ll_time(const Terms& t) {
  const std::int64_t p = t.ranks, packets = 2 * t.wire_bytes;
  const StepBytes encode{0, t.bytes + packets, converted(t, t.bytes)};
  const StepBytes push{p > 1 ? packets : 0, 2 * (p - 1) * packets, 0};
  const StepBytes sum{0, p * packets + t.bytes, converted(t, p * t.bytes)};
  const Picos meet = packets > 0 ? meeting(t) : Picos{};  // without packets there is none to await
  return t.launch + step_time(t, encode) + step_time(t, push) + meet + step_time(t, sum);
}

Picos tree_time(const Terms& terms) {
  Terms t = terms;
  t.ranks_per_node = t.ranks;
  const StepBytes own{0, 2 * t.wire_bytes,
                      converted(t, 2 * t.bytes)};  // summed by a rank alone too
  return t.copy_launch + hierarchical_time(t) + (t.ranks == 1 ? step_time(t, own) : Picos{});
}

Picos ring_time(const Terms& t) {
  const std::int64_t hops = t.ranks - 1;
  const std::int64_t c = ceil_divide(t.bytes, t.ranks), e = ceil_divide(t.wire_bytes, t.ranks);
  const std::int64_t codec = converted(t, c);
  if (hops == 0) return t.launch + 2 * convert_all(t);
  const Picos first = step_time(t, {e, c + e, codec});
  const Picos sum = step_time(t, {e, c + 2 * e, 2 * codec});
  const Picos own = step_time(t, {0, c + 2 * e, 2 * codec});
  const Picos pass_on = step_time(t, {e, c + 3 * e, codec});
  const Picos last = step_time(t, {0, c + e, codec});
  return t.launch + first + (hops - 1) * sum + own + hops * pass_on + last +
         (2 * hops + 1) * t.alpha;
}

Picos pipelined_ring_time(const Terms& t, int pieces) {
  TALLY_CHECK(t.ranks > 1 && pieces > 0, "a ring of several ranks, and pieces of something");
  const std::int64_t turns = 2 * (t.ranks - 1), chunk = ceil_divide(t.wire_bytes, t.ranks);
  const Picos piece = known_time(ceil_divide(chunk, pieces), t.link_bytes_per_s);
  return t.launch + (turns - 1) * std::max(pieces * piece, piece + t.alpha) + pieces * piece +
         2 * t.alpha;
}

Picos halving_doubling_time(const Terms& terms) {
  Terms t = terms;
  t.ranks_per_node = 1;
  t.network_alpha = t.alpha;
  t.network_bytes_per_s = t.link_bytes_per_s;
  return hierarchical_time(t);
}

Picos recursive_doubling_time(const Terms& t) {
  const auto [active, any_folded] = folded(t.ranks);
  const Picos add =
      t.alpha + step_time(t, {t.wire_bytes, 3 * t.wire_bytes, converted(t, 3 * t.bytes)});
  const Picos hand_back = t.alpha + step_time(t, {t.wire_bytes, 2 * t.wire_bytes, 0});
  const int doublings = std::countr_zero(static_cast<unsigned>(active));
  return t.launch + doublings * add + (any_folded ? add + hand_back : Picos{});
}

Picos hierarchical_time(const Terms& t) {
  TALLY_CHECK(t.ranks % t.ranks_per_node == 0, "the ranks of a node divide all");
  const std::int64_t g = t.ranks_per_node;
  const int nodes = t.ranks / t.ranks_per_node;
  const std::int64_t c = ceil_divide(t.bytes, g), e = ceil_divide(t.wire_bytes, g);
  const bool in_node = g > 1, is_across = nodes > 1;
  const Picos meet_node = in_node ? t.alpha : Picos{};
  const Picos leave = std::max(meet_node, is_across ? t.network_alpha : Picos{});
  Picos total = t.launch + convert_all(t) + meet_node;
  if (in_node) total += step_time(t, {e, (g + 1) * e, converted(t, (g + 1) * c)});
  if (is_across) total += between_nodes(t, nodes, c, e);
  const StepBytes gather{in_node ? e : 0, g * e + t.bytes, converted(t, t.bytes)};
  return total + meet_node + step_time(t, gather) + leave;
}

Picos all_gather_time(const Terms& t) {
  const std::int64_t p = t.ranks, w = t.wire_bytes;
  const StepBytes fetch{p > 1 ? w : 0, p * (w + t.bytes), converted(t, p * t.bytes)};
  return t.launch + convert_all(t) + step_time(t, fetch) + 2 * meeting(t);
}

Picos reduce_scatter_time(const Terms& t) {
  const std::int64_t p = t.ranks, w = t.wire_bytes;
  const StepBytes sum{p > 1 ? w : 0, p * w + t.bytes, converted(t, p * t.bytes)};
  return t.copy_launch + t.launch + convert_all(t, p) + step_time(t, sum) + 2 * meeting(t);
}

Picos all_to_all_time(const Terms& t) {
  const std::int64_t p = t.ranks, w = t.wire_bytes;
  const StepBytes fetch{p > 1 ? w : 0, p * (w + t.bytes), converted(t, p * t.bytes)};
  return t.copy_launch + t.launch + convert_all(t, p) + step_time(t, fetch) + 2 * meeting(t);
}

}  // namespace tally::sim
