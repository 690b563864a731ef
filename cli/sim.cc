#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/sim_options.h"
#include "cli/sim_predict.h"
#include "cli/sim_sweep.h"
#include "cli/sim_tune.h"

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
    case SimMode::calibrate:
    case SimMode::inference:
    case SimMode::claims:
      break;
  }
  return kNotHere;
}

}  // namespace tally::cli
