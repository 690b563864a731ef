#pragma once

// What the tests of both devices do with their rules.

#include <set>
#include <span>

#include "kernels/algorithms.h"
#include "kernels/recipes.h"
#include "tests/kernels/assembly/listing.h"
#include "tests/support/catch.h"

namespace tally::kernels::assembly {

struct NamedRule {
  std::string_view name;
  Rule rule;
};

/// A kernel of the rejected ones, by a part of its name, and the rule that it breaks.
struct Rejected {
  std::string_view kernel, rule;
};

inline std::string describe(const Kernel& k) {
  return kernel_name(k.collective, k.algorithm, k.arithmetic);
}

/// Every recipe in every algorithm, each once.
inline void require_all_recipes(const std::vector<Kernel>& kernels) {
  std::multiset<std::string> wanted, found;
  for_each_kernel([&]<class Algorithm, class R>(const model::Arithmetic& a) {
    wanted.insert(kernel_name(Algorithm::kCollective, Algorithm::kName, a));
  });
  for (const Kernel& kernel : kernels) found.insert(describe(kernel));
  REQUIRE(found == wanted);
}

inline void require_rules_hold(const std::vector<Kernel>& kernels,
                               std::span<const NamedRule> rules) {
  for (const Kernel& kernel : kernels) {
    for (const NamedRule& rule : rules) {
      INFO(describe(kernel) << " " << rule.name);
      CHECK(rule.rule(kernel) == "");
    }
  }
}

/// Each rejected kernel breaks its rule, and each rule has one that breaks it.
inline void require_rules_reject(const std::vector<Kernel>& kernels,
                                 std::span<const NamedRule> rules,
                                 std::span<const Rejected> rejected) {
  std::set<std::string_view> seen;
  for (const Rejected& r : rejected) {
    CAPTURE(std::string(r.kernel), std::string(r.rule));
    int breaking = 0;
    for (const Kernel& kernel : kernels) {
      if (!contains(kernel.name, r.kernel)) continue;
      for (const NamedRule& rule : rules) {
        if (rule.name != r.rule) continue;
        ++breaking;
        CHECK(rule.rule(kernel) != "");
        seen.insert(rule.name);
      }
    }
    CHECK(breaking > 0);
  }
  for (const NamedRule& rule : rules) {
    INFO(rule.name);
    CHECK(seen.count(rule.name) == 1);
  }
}

}  // namespace tally::kernels::assembly
