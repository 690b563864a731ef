#include "kernels/comm/room.h"

namespace tally::comm {

std::string text_of(Milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

model::Error did_not_arrive(const std::string& name, const std::vector<int>& ranks,
                            Milliseconds timeout) {
  return {"communicator '" + name + "'",
          text_of_ranks(ranks) + " did not arrive within " + text_of(timeout),
          "every rank makes the same calls in the same order; a slow one needs a longer timeout"};
}

model::Error has_left(const std::string& name, const std::vector<int>& ranks) {
  return {"communicator '" + name + "'", text_of_ranks(ranks) + " left",
          "what ended there says why; the others need a new communicator"};
}

model::Error disagree_on_size(const std::string& name, int rank, int size, int others) {
  return {"communicator '" + name + "'",
          "rank " + std::to_string(rank) + " counts " + std::to_string(size) + " ranks, others " +
              std::to_string(others),
          "one launcher starts all ranks, and gives them the same WORLD_SIZE"};
}

model::Error differing_calls(const std::string& name, const std::string& of_rank_0, int rank,
                             const std::string& other) {
  return {"communicator '" + name + "'",
          "the calls differ: rank 0 has " + of_rank_0 + "; rank " + std::to_string(rank) + " has " +
              other,
          "every rank makes the same calls in the same order"};
}

std::optional<model::Error> beyond_bound(const std::string& name, const std::int64_t* received,
                                         int ranks, std::int64_t bound) {
  std::vector<int> to_blame;
  for (int rank = 0; rank < ranks; ++rank) {
    if (received[rank] < 0) to_blame.push_back(rank);
  }
  if (to_blame.empty()) return std::nullopt;
  return model::Error{"communicator '" + name + "'",
                      "all_to_all_v: " + text_of_ranks(to_blame) +
                          " had counts that are not in 0.." + std::to_string(bound),
                      "no rank's output was written"};
}

model::Error is_there_already(const std::string& name, int rank) {
  return {"communicator '" + name + "'", "rank " + std::to_string(rank) + " is there already",
          "every rank has a number of its own; two jobs need two ports"};
}

}  // namespace tally::comm
