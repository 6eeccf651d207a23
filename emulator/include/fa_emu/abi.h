/*!
 * \file abi.h
 * \brief The one record and the one function table between a kernel library and the emulator.
 */
#ifndef FA_EMU_ABI_H
#define FA_EMU_ABI_H

#include <cstdint>

/*! Place in the kernel's source that made a call. */
struct FaEmuLoc {
    const char* file;
    int line;

    static constexpr FaEmuLoc Here(const char* file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return FaEmuLoc{file, line};
    }
};

/*! One operand. `addr` is a byte offset for on-chip memories and a pointer for global memory. */
struct FaEmuOperand {
    uint64_t addr;
    uint64_t bytes;
    uint8_t position;
    uint8_t dtype;
    uint16_t present;
    uint32_t reserved;
};

/*! One instruction as the scalar unit issues it; the meaning of `p` depends on `op`. */
struct FaEmuRecord {
    uint32_t op;
    uint32_t form;
    const char* file;
    int32_t line;
    uint32_t reserved;
    const char* name;
    uint64_t mask[2];
    uint64_t scalar;
    int64_t p[20];
    FaEmuOperand t[4];
};

/*! What the emulator gives a kernel library when it loads it. */
struct FaEmuApi {
    uint32_t version;
    uint32_t reserved;
    /*! Issues one instruction; the result is used by scalar reads and queries only. */
    uint64_t (*issue)(const FaEmuRecord*);
    /*! Reports a mistake found by the headers themselves (severity 0 error, 1 warning). */
    void (*report)(uint32_t severity, const char* kind, const char* message, const char* help, const char* file, int line);
    /*! Prints one formatted line of a kernel. */
    void (*print)(const char* text, uint64_t length);
};

#define FA_EMU_ABI_VERSION 2u

/*! Set by `fa_emu_bind` when the library is loaded. */
extern const FaEmuApi* fa_emu_api;

/*! Instruction codes; the Rust side has the same list. */
enum FaEmuOp : uint32_t {
    FA_OP_ADD = 1, FA_OP_SUB, FA_OP_MUL, FA_OP_DIV, FA_OP_MAX, FA_OP_MIN, FA_OP_AND, FA_OP_OR,
    FA_OP_MULADDDST, FA_OP_FUSEDMULADD, FA_OP_FUSEDMULADDRELU, FA_OP_ADDRELU, FA_OP_SUBRELU,
    FA_OP_MULCAST, FA_OP_ADDRELUCAST, FA_OP_SUBRELUCAST, FA_OP_ADDDEQRELU,
    FA_OP_ABS = 20, FA_OP_EXP, FA_OP_LN, FA_OP_SQRT, FA_OP_RSQRT, FA_OP_RECIPROCAL, FA_OP_RELU, FA_OP_NOT,
    FA_OP_ADDS = 30, FA_OP_MULS, FA_OP_MAXS, FA_OP_MINS, FA_OP_SHL, FA_OP_SHR, FA_OP_LEAKYRELU, FA_OP_AXPY,
    FA_OP_DUPLICATE = 40, FA_OP_BRCB, FA_OP_CAST, FA_OP_COPY, FA_OP_VECINDEX,
    FA_OP_COMPARE = 50, FA_OP_COMPARES, FA_OP_COMPARE_SPR, FA_OP_SELECT, FA_OP_GATHER, FA_OP_GATHERB, FA_OP_GATHERMASK,
    FA_OP_TRANSPOSE, FA_OP_TRANS5HD, FA_OP_GETCMPMASK, FA_OP_SETCMPMASK,
    FA_OP_SORT32, FA_OP_MRGSORT, FA_OP_MRGRESULT,
    FA_OP_REDUCE_REPEAT = 70, FA_OP_REDUCE_BLOCK, FA_OP_REDUCE_PAIR, FA_OP_REDUCE_TENSOR, FA_OP_REDUCE_SPR,
    FA_OP_DATACOPY = 80, FA_OP_ND2NZ, FA_OP_PAD_IN, FA_OP_PAD_OUT, FA_OP_SETPADVALUE,
    FA_OP_LOAD2D = 90, FA_OP_LOAD2D_TRANSPOSE, FA_OP_LOAD3D, FA_OP_FILL,
    FA_OP_MMAD = 100, FA_OP_FIXPIPE, FA_OP_SETMODE,
    FA_OP_SETFLAG = 110, FA_OP_WAITFLAG, FA_OP_BARRIER, FA_OP_CROSS_SET, FA_OP_CROSS_WAIT, FA_OP_SYNCALL,
    FA_OP_WORD_SET, FA_OP_WORD_WAIT, FA_OP_TURN_INIT, FA_OP_TURN_WAIT,
    FA_OP_SETMASK = 120, FA_OP_MASKMODE, FA_OP_SETCTRL, FA_OP_GETCTRL, FA_OP_ATOMIC, FA_OP_SETDEQSCALE,
    FA_OP_READ = 130, FA_OP_WRITE, FA_OP_DCCI,
    FA_OP_QUERY = 140, FA_OP_INIT, FA_OP_SYNCBASE, FA_OP_TPIPE, FA_OP_EVENT_ALLOC, FA_OP_EVENT_RELEASE,
    FA_OP_EVENT_FETCH, FA_OP_TRAP, FA_OP_TURN_NEXT,
    FA_OP_MATMUL_OPEN = 150, FA_OP_MATMUL_POST, FA_OP_MATMUL_TAKE, FA_OP_MATMUL_ANSWER, FA_OP_MATMUL_AWAIT,
};

/*! How a vector call states its lanes. */
enum FaEmuForm : uint32_t { FA_FORM_COUNT = 0, FA_FORM_LANES = 1, FA_FORM_BITS = 2, FA_FORM_KEEP = 3 };

#endif
