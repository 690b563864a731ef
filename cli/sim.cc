#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/sim_answers.h"
#include "cli/sim_options.h"
#include "cli/sim_predict.h"
#include "cli/sim_sweep.h"
#include "cli/sim_tune.h"
#include "cli/sim_validate.h"
#include "model/check.h"

namespace tally::cli {

int sim(const Arguments& arguments) {
  const auto options = parse_sim(arguments);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << *options->help;
    return kHeld;
  }
  switch (options->mode) {
    case SimMode::predict:
      return sim_predict(*options);
    case SimMode::sweep:
      return sim_sweep(*options);
    case SimMode::tune:
      return sim_tune(*options);
    case SimMode::validate:
      return sim_validate(*options);
    case SimMode::calibrate:
      return sim_calibrate(*options);
    case SimMode::inference:
      return sim_inference(*options);
    case SimMode::claims:
      return sim_claims(*options);
  }
  TALLY_CHECK(false, "a mode of the list");
}

}  // namespace tally::cli
