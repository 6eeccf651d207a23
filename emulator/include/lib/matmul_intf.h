/*!
 * \file matmul_intf.h
 * \brief The Matmul object. Define ASCENDC_CUBE_ONLY before for kernels that call it on the cube core.
 */
#ifndef FA_EMU_LIB_MATMUL_INTF_H
#define FA_EMU_LIB_MATMUL_INTF_H

#include "../kernel_operator.h"
#include "../fa_emu/matmul.h"

#endif
