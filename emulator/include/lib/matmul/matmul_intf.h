/*!
 * \file matmul_intf.h
 * \brief The Matmul object, under its longer name.
 */
#include "../matmul_intf.h"
