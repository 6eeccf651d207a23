/*!
 * \file kernel_operator.h
 * \brief Umbrella header of the emulated toolkit: the Ascend C basic API for NPU 2201.
 *
 * Written from the public API documentation. Every call is marshalled into one record and handed to the
 * emulator that loaded the kernel; no hardware is touched and all results are emulated.
 */
#ifndef FA_EMU_KERNEL_OPERATOR_H
#define FA_EMU_KERNEL_OPERATOR_H

#include "fa_emu/abi.h"
#include "fa_emu/types.h"
#include "fa_emu/structs.h"
#include "fa_emu/issue.h"
#include "fa_emu/tensor.h"
#include "fa_emu/system.h"
#include "fa_emu/sync.h"
#include "fa_emu/pipe.h"
#include "fa_emu/copy.h"
#include "fa_emu/cube.h"
#include "fa_emu/arith.h"
#include "fa_emu/unary.h"
#include "fa_emu/fill.h"
#include "fa_emu/convert.h"
#include "fa_emu/reduce.h"
#include "fa_emu/select.h"
#include "fa_emu/debug.h"
#include "fa_emu/fused.h"
#include "fa_emu/sort.h"
#include "fa_emu/softmax.h"
#include "fa_emu/filter.h"
#include "fa_emu/legacy.h"
#include "fa_emu/absent.h"

#endif
