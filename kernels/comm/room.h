#pragma once

// Where the ranks of a communicator meet, as a state without threads, sockets or a clock: in round
// k every rank contributes something, and gets what all contributed. Those that keep a room bring
// it the time.

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "model/check.h"
#include "model/result.h"

namespace tally::comm {

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

/// "250 ms", "10 s".
std::string text_of(Milliseconds duration);
/// "rank 3", "ranks 1, 2 and 5".
std::string text_of_ranks(const std::vector<int>& ranks);
model::Error did_not_arrive(const std::string& name, const std::vector<int>& ranks,
                            Milliseconds timeout);
model::Error has_left(const std::string& name, const std::vector<int>& ranks);
model::Error disagree_on_size(const std::string& name, int rank, int size, int others);
/// Calls that differ; where `received` counts hold -1, whose counts were beyond the bound.
model::Error differing_calls(const std::string& name, const std::string& of_rank_0, int rank,
                             const std::string& other);
std::optional<model::Error> beyond_bound(const std::string& name, const std::int64_t* received,
                                         int ranks, std::int64_t bound);
model::Error is_there_already(const std::string& name, int rank);

/// Rounds end in order, and a rank may contribute to several before it takes the first. A rank that
/// leaves, or is late by more than the timeout of the first to arrive, fails the room, for ever and
/// for all: there is one failure, and everybody reads the same.
template <class Contribution>
class Room {
 public:
  using Gathered = std::vector<Contribution>;  // [rank]

  /// The name is for messages.
  Room(std::string name, int size)
      : name_(std::move(name)), given_(size), taken_(size), left_(size) {}

  int size() const { return static_cast<int>(given_.size()); }

  /// To the next round of `rank`.
  void contribute(int rank, Contribution contribution, Time now, Milliseconds timeout) {
    if (failure_) return;
    TALLY_CHECK(!left_[rank], "a rank that left contributes");
    const std::int64_t round = given_[rank]++;
    if (round == first_ + std::ssize(rounds_)) rounds_.push_back({Slots(size()), now, timeout});
    at(round).slots[rank] = std::move(contribution);
    fail_without_those_who_left();
  }

  /// What all contributed to the next round that `rank` has not taken; nothing while somebody has
  /// not, and where it has itself contributed to none.
  std::optional<Gathered> take(int rank) {
    const std::int64_t round = taken_[rank];
    if (round >= given_[rank] || !is_complete(round)) return std::nullopt;
    Gathered all;
    for (const auto& slot : at(round).slots) all.push_back(*slot);
    ++taken_[rank];
    drop_what_all_have_taken();
    return all;
  }

  /// Once for a rank. Rounds that it has contributed to are not affected.
  void leave(int rank) {
    left_[rank] = true;
    fail_without_those_who_left();
    drop_what_all_have_taken();
  }
  /// How many rounds it has contributed to.
  std::int64_t contributions(int rank) const { return given_[rank]; }
  bool has_contributed(int rank) const { return given_[rank] > 0; }
  /// Whether who comes now belongs here, and not to a later communicator of the same name.
  bool is_open() const {
    for (const bool left : left_) {
      if (left) return false;
    }
    return !failure_;
  }

  /// Fails the room where somebody is late.
  void expire(Time now) {
    const std::optional<Time> end = deadline();
    if (failure_ || !end || now < *end) return;
    for (std::int64_t round = first_;; ++round) {
      if (is_complete(round)) continue;
      fail(did_not_arrive(name_, missing(round), at(round).timeout));
      has_expired_ = true;
      return;
    }
  }
  /// When the oldest round that somebody is missing from expires.
  std::optional<Time> deadline() const {
    for (std::int64_t round = first_; round < first_ + std::ssize(rounds_); ++round) {
      if (!is_complete(round)) return at(round).begin + at(round).timeout;
    }
    return std::nullopt;
  }

  void fail(model::Error why) {
    if (!failure_) failure_ = std::move(why);
  }
  const std::optional<model::Error>& failure() const { return failure_; }
  /// Whether it failed because somebody was late.
  bool has_expired() const { return has_expired_; }

 private:
  using Slots = std::vector<std::optional<Contribution>>;  // [rank]
  struct Round {
    Slots slots;
    Time begin;  // when the first contributed
    Milliseconds timeout;
  };

  Round& at(std::int64_t round) { return rounds_[round - first_]; }
  const Round& at(std::int64_t round) const { return rounds_[round - first_]; }
  std::vector<int> missing(std::int64_t round) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank) {
      if (given_[rank] <= round) ranks.push_back(rank);
    }
    return ranks;
  }
  bool is_complete(std::int64_t round) const { return missing(round).empty(); }

  /// Somebody who left is missing from a round that others began.
  void fail_without_those_who_left() {
    const std::int64_t begun = first_ + std::ssize(rounds_);
    std::vector<int> gone;
    for (int rank = 0; rank < size(); ++rank) {
      if (left_[rank] && given_[rank] < begun) gone.push_back(rank);
    }
    if (!gone.empty()) fail(comm::has_left(name_, gone));
  }
  void drop_what_all_have_taken() {
    const auto is_taken = [this](std::int64_t round) {
      for (int rank = 0; rank < size(); ++rank) {
        if (taken_[rank] <= round && !left_[rank]) return false;
      }
      return true;
    };
    while (!rounds_.empty() && is_complete(first_) && is_taken(first_)) {
      rounds_.pop_front();
      ++first_;
    }
  }

  std::string name_;
  std::int64_t first_ = 0;  // the number of rounds_'s first
  std::deque<Round> rounds_;
  std::vector<std::int64_t> given_, taken_;  // [rank]: how many rounds
  std::vector<bool> left_;                   // [rank]
  std::optional<model::Error> failure_;
  bool has_expired_ = false;
};

}  // namespace tally::comm
