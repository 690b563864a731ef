#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_f16_kernels(KernelList& list) { list.add_element<Element<model::Format::f16>>(); }

}  // namespace tally::kernels::emulator
