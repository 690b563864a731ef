#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_bf16_kernels(KernelList& list) { list.add_element<Element<model::Format::bf16>>(); }

}  // namespace tally::kernels::emulator
