#include "verify/interleaving.h"

namespace tally::verify {

std::unique_ptr<kernels::emulator::Choices> choices_of(const Case& c, const Interleaving& which) {
  using namespace kernels::emulator;
  constexpr int kTurns = 6;  // a walk, and depths 1 to 5
  if (c.script) return std::make_unique<Scripted>(*c.script);
  const std::uint64_t of_case = SplitMix(c.seed).next();
  const std::uint64_t seed = SplitMix(of_case + static_cast<std::uint64_t>(which.number)).next();
  if (which.number == 0) return std::make_unique<RandomWalk>(seed, RandomWalk::Grain::coarse);
  const int depth = which.number % kTurns;
  if (depth == 0) return std::make_unique<RandomWalk>(seed);
  return std::make_unique<Pct>(seed, depth, which.steps);
}

}  // namespace tally::verify
