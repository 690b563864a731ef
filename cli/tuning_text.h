#pragma once

// A selection table in the forms that libraries read.

#include <span>
#include <string>

#include "study/tuning.h"

namespace tally::cli {

/// The variables that make RCCLX choose so, NAME=VALUE a line (model/rcclx.h). What its dispatch
/// cannot be made to choose is said in lines that begin with #. The rows are of one machine, number
/// of ranks and dtype.
std::string rcclx_environment(std::span<const study::TableRow> rows);

/// The file that NCCL's example tuner plugin reads from NCCL_TUNER_CONFIG_FILE (NVIDIA/nccl,
/// ext-tuner/example/README.md): collective,minBytes,maxBytes,algorithm,protocol,channels,nNodes,
/// nRanks,numPipeOps,regBuff, where -1 is any. Rows that are no algorithm of NCCL's are said in
/// lines that begin with #.
std::string nccl_tuner_csv(std::span<const study::TableRow> rows);

}  // namespace tally::cli
