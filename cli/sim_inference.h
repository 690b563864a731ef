#pragma once

// The forms in which `tally sim` hands out answers about inference, and published claims.

#include <optional>
#include <ostream>
#include <span>

#include "model/result.h"
#include "sim/claims.h"
#include "sim/inference.h"

namespace tally::cli {

/// A question and its answer, for people: a row for each part, and what they add up to.
void inference_table(std::ostream& out, const sim::Question& question, const sim::Answer& answer);
/// One object on one line; docs/inference.md says what its fields are.
void inference_json(std::ostream& out, const sim::Question& question, const sim::Answer& answer);
/// The object's fields but its parts, a row for each question; the first brings the header.
void inference_csv(std::ostream& out, const sim::Question& question, const sim::Answer& answer,
                   bool with_header);

/// Each claim beside what is computed, and why they differ.
void claims_table(std::ostream& out, std::span<const sim::Claim> claims);
/// An object for each claim, on a line of its own.
void claims_json(std::ostream& out, std::span<const sim::Claim> claims);
/// The objects' fields but their samples, with a header.
void claims_csv(std::ostream& out, std::span<const sim::Claim> claims);

}  // namespace tally::cli
