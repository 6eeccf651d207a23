/*!
 * \file matmul_intf.h
 * \brief The Matmul object, which is not emulated.
 */
#error "the Matmul object is not emulated: use LoadData, Mmad and Fixpipe"
