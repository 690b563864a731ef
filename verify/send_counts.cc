#include "verify/send_counts.h"

#include <cstring>

namespace tally::verify {
namespace {

bool has_counts(const Case& c) { return c.collective == model::Collective::all_to_all_v; }

/// `ranks` numbers of any bits for each rank, by seed, call and rank alone.
std::vector<std::uint64_t> drawn_numbers(const Case& c, int call) {
  const reference::Input any_bits{reference::InputKind::uniform, "uniform", nullptr};
  std::vector<std::uint64_t> numbers;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const std::vector<std::byte> bits =
        reference::draw(any_bits, model::Moved::int64, {c.seed, call, rank, c.ranks});
    numbers.resize(numbers.size() + c.ranks);
    std::memcpy(&numbers[rank * c.ranks], bits.data(), bits.size());
  }
  return numbers;
}

}  // namespace

bool is_refused(const Case& c, int call) {
  return has_counts(c) && c.counts.size() > 1 && call + 1 == std::ssize(c.counts);
}

std::vector<std::int64_t> send_counts(const Case& c, int call) {
  if (!has_counts(c)) return {};
  const std::int64_t bound = c.counts[call];
  const std::vector<std::uint64_t> numbers = drawn_numbers(c, call);
  std::vector<std::int64_t> counts;
  for (const std::uint64_t drawn : numbers) {
    const auto some = static_cast<std::int64_t>((drawn >> 2) % (bound + 1));
    const std::int64_t any[] = {0, bound, some, some};
    counts.push_back(any[drawn & 3]);
  }
  if (is_refused(c, call)) counts[numbers[0] % counts.size()] = bound + 1;
  return counts;
}

std::vector<std::int64_t> received_counts(const Case& c, int call) {
  const std::vector<std::int64_t> sent = send_counts(c, call);
  const bool refused = is_refused(c, call);
  std::vector<bool> is_guilty(c.ranks, false);
  for (std::size_t pair = 0; pair < sent.size(); ++pair) {
    if (sent[pair] > c.counts[call]) is_guilty[pair / c.ranks] = true;
  }
  std::vector<std::int64_t> received;
  for (std::size_t pair = 0; pair < sent.size(); ++pair) {
    const auto to = pair / c.ranks, from = pair % c.ranks;
    received.push_back(refused ? -static_cast<std::int64_t>(is_guilty[from])
                               : sent[from * c.ranks + to]);
  }
  return received;
}

void check_received_counts(const Case& c, int call, int rank,
                           const std::vector<std::int64_t>& received, Observation& seen) {
  const std::vector<std::int64_t> wanted = received_counts(c, call);
  for (int from = 0; from < c.ranks; ++from) {
    const std::int64_t want = wanted[rank * c.ranks + from];
    if (received[from] == want) continue;
    seen.broken.push_back("call " + std::to_string(call) + ": rank " + std::to_string(rank) +
                          " was told that it received " + std::to_string(received[from]) +
                          " elements from rank " + std::to_string(from) + ", not " +
                          std::to_string(want));
  }
}

std::int64_t written_elements(const Case& c, int call, int rank) {
  if (is_refused(c, call)) return 0;
  const std::vector<std::int64_t> sent = send_counts(c, call);
  return has_counts(c) ? model::receive_offset(sent, c.ranks, c.ranks, rank)
                       : model::output_elements(c.collective, c.ranks, c.counts[call]);
}

}  // namespace tally::verify
