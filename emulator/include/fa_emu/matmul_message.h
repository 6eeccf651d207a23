/*!
 * \file matmul_message.h
 * \brief What a Matmul object asks of the cube core, how the question gets there, and what is wrong with a tiling.
 *
 * On the chip a message is a copy by MTE3 from the end of UB to the system workspace, and the answer is a cross-core
 * flag; the emulator orders and times both like that.
 */
#ifndef FA_EMU_MATMUL_MESSAGE_H
#define FA_EMU_MATMUL_MESSAGE_H

#include <cstdarg>
#include <cstdio>

#include "matmul_types.h"

namespace fa_emu {
#ifdef ASCENDC_CUBE_ONLY
constexpr bool kMatmulCubeOnly = true;
#else
constexpr bool kMatmulCubeOnly = false;
#endif
constexpr int32_t kMatmulObjects = 4; // of a kernel

template <typename N> constexpr N UpTo(N value, N unit) { return (value + unit - 1) / unit * unit; }

inline void MatmulReport(
    uint32_t severity, const char* kind, FaEmuLoc loc, const char* help, const char* format, va_list values)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, values);
    fa_emu_api->report(severity, kind, text, help, loc.file, loc.line);
}

__attribute__((format(printf, 4, 5))) inline void MatmulError(
    const char* kind, FaEmuLoc loc, const char* help, const char* format, ...)
{
    va_list values;
    va_start(values, format);
    MatmulReport(0, kind, loc, help, format, values);
    va_end(values);
}

__attribute__((format(printf, 4, 5))) inline void MatmulWarning(
    const char* kind, FaEmuLoc loc, const char* help, const char* format, ...)
{
    va_list values;
    va_start(values, format);
    MatmulReport(1, kind, loc, help, format, values);
    va_end(values);
}

/*! An operand in global memory: elements of a row, or rows of a matrix of column groups. */
struct MatmulMatrix {
    uint64_t address = 0;
    int32_t pitch = 0;
    bool transposed = false;
};

enum MatmulCall : uint32_t {
    kMatmulQuit,     // the vector core calls no more
    kMatmulBlocks,   // compute blocks of C and store them
    kMatmulHold,     // compute the block of C and leave it in L0C
    kMatmulTakeHeld, // store that block
};

/*! One message. */
struct MatmulRequest {
    MatmulCall call = kMatmulQuit;
    int32_t object = 0;
    TCubeTiling tiling;
    MatmulMatrix a;
    MatmulMatrix b;
    uint64_t bias = 0; // 0 for none
    uint64_t scales = 0; // one a column, or 0
    uint64_t scale = 0;
    int32_t m = 0; // of this core
    int32_t n = 0;
    int32_t k = 0;
    uint64_t c = 0;
    int32_t cPitch = 0;
    int32_t cStep = 0; // elements from block to block; 0: each at its place in the matrix
    int32_t first = 0; // block, in order of iteration
    int32_t blocks = 0;
    int32_t answerEvery = 0; // blocks; 0: no answer
    uint8_t atomic = 0;
    bool dense = false; // a block's rows follow each other
    bool accumulate = false;
    bool hf32 = false;
    bool hf32ToZero = false;
    FaEmuLoc loc = {"", 0};
};

/*! Elements of a matrix along one side: where they start, and how many. */
struct MatmulSpan {
    int32_t start = 0;
    int32_t count = 0;

    static MatmulSpan Of(int32_t index, int32_t size, int32_t whole)
    {
        const int32_t start = index * size;
        return {start, whole - start < size ? whole - start : size};
    }
};

/*! A block of C: its place among the blocks, and its elements. */
struct MatmulBlock {
    int32_t row = 0;
    int32_t column = 0;
    MatmulSpan rows;
    MatmulSpan columns;

    /*! In order of iteration. */
    static MatmulBlock Of(const MatmulRequest& request, int32_t index)
    {
        const TCubeTiling& t = request.tiling;
        const int32_t high = AscendC::DivCeil(request.m, t.baseM);
        const int32_t wide = AscendC::DivCeil(request.n, t.baseN);
        const int32_t row = t.iterateOrder == 0 ? index % high : index / wide;
        const int32_t column = t.iterateOrder == 0 ? index / high : index % wide;
        return {row, column, MatmulSpan::Of(row, t.baseM, request.m), MatmulSpan::Of(column, t.baseN, request.n)};
    }
};

/*! The workspace is checked, flags 0 to 2N-1 are the objects' from now on; returns the vector cores of a block. */
inline int64_t OpenMatmul(GM_ADDR workspace, int32_t objects, FaEmuLoc loc)
{
    AscendC::GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer(workspace);
    Record record(FA_OP_MATMUL_OPEN, "REGIST_MATMUL_OBJ", loc);
    return static_cast<int64_t>(
        record.Operand(0, gm).Param(0, objects).Param(1, AscendC::RESERVED_WORKSPACE).Issue());
}

inline void PostMatmul(const MatmulRequest& request, FaEmuLoc loc)
{
    Record(FA_OP_MATMUL_POST, "Matmul", loc)
        .Param(0, sizeof(request)).Scalar(reinterpret_cast<uint64_t>(&request)).Issue();
}

/*! Waits for a message, of vector core `from` if that is not negative; returns whose it is. */
inline int32_t TakeMatmul(MatmulRequest& request, int32_t from, FaEmuLoc loc)
{
    Record record(FA_OP_MATMUL_TAKE, "REGIST_MATMUL_OBJ", loc);
    return static_cast<int32_t>(
        record.Param(0, sizeof(request)).Param(1, from).Scalar(reinterpret_cast<uint64_t>(&request)).Issue());
}

inline uint16_t MatmulFlag(int32_t object, int32_t sub) { return static_cast<uint16_t>(2 * object + sub); }

inline void AnswerMatmul(int32_t object, int32_t sub, FaEmuLoc loc)
{
    Record(FA_OP_MATMUL_ANSWER, "Matmul", loc).Param(0, sub).Param(2, MatmulFlag(object, sub)).Issue();
}

inline void AwaitMatmul(int32_t object, FaEmuLoc loc)
{
    const int32_t sub = static_cast<int32_t>(Ask(kSubBlockIdx));
    Record(FA_OP_MATMUL_AWAIT, "Matmul", loc).Param(2, MatmulFlag(object, sub)).Issue();
}

/*! Element types of an object, as far as memory is concerned. */
struct MatmulWidths {
    int32_t operand = 0;
    bool transA = false; // may be
    bool transB = false;
    bool multiLoad = false;

    int32_t Group() const { return AscendC::ONE_BLK_SIZE / operand; }
    /*! Rows along the depth of the product come in whole squares. */
    int32_t DepthUnit() const { return Group() > kRows ? Group() : kRows; }
    /*! Bytes in L1 of a piece of an operand. */
    int64_t PieceBytes(int64_t outer, int64_t depth, bool depthInRows) const
    {
        const int64_t rows = depthInRows ? UpTo<int64_t>(depth, DepthUnit()) : UpTo<int64_t>(outer, kRows);
        return rows * UpTo<int64_t>(depthInRows ? outer : depth, Group()) * operand;
    }
    int64_t L0aBytes(const TCubeTiling& t) const { return Block(t.baseM) * Block(t.baseK) * operand; }
    int64_t L0bBytes(const TCubeTiling& t) const { return Block(t.baseN) * Block(t.baseK) * operand; }
    int64_t L0cBytes(const TCubeTiling& t) const { return Block(t.baseM) * Block(t.baseN) * kSumBytes; }
    int64_t Block(int32_t side) const { return UpTo<int64_t>(side, DepthUnit()); }

    static constexpr int32_t kRows = 16;
    static constexpr int32_t kSumBytes = 4;
    static constexpr int32_t kScaleBytes = 8;
};

/*! How an operand's pieces share L1. */
struct MatmulCache {
    int32_t outer = 0; // base blocks of a piece
    int32_t depth = 0;
    int32_t pieces = 0;

    static MatmulCache Of(int32_t step, int32_t stepDepth, int32_t held, bool multiLoad)
    {
        MatmulCache cache{multiLoad ? step : 1, multiLoad ? stepDepth : 1, held};
        if (multiLoad) {
            cache.pieces = held / (step * stepDepth);
        }
        return cache;
    }
    static MatmulCache OfA(const TCubeTiling& t, bool multiLoad) { return Of(t.stepM, t.stepKa, t.depthA1, multiLoad); }
    static MatmulCache OfB(const TCubeTiling& t, bool multiLoad) { return Of(t.stepN, t.stepKb, t.depthB1, multiLoad); }
    int64_t Bytes(const MatmulWidths& widths, int64_t baseOuter, int64_t baseDepth, bool depthInRows) const
    {
        return pieces * widths.PieceBytes(outer * baseOuter, depth * baseDepth, depthInRows);
    }
};

/*! L1 of an object: A, B, then a row of bias and one of scales. */
inline int64_t MatmulL1Bytes(const TCubeTiling& t, const MatmulWidths& widths, bool transA, bool transB)
{
    const int64_t a = MatmulCache::OfA(t, widths.multiLoad).Bytes(widths, t.baseM, t.baseK, transA);
    const int64_t b = MatmulCache::OfB(t, widths.multiLoad).Bytes(widths, t.baseN, t.baseK, !transB);
    return a + b + widths.Block(t.baseN) * (MatmulWidths::kSumBytes + MatmulWidths::kScaleBytes);
}

/*! Reports what `need` has too much for a memory. */
inline bool MatmulFits(const char* what, const char* memory, int64_t need, Query query, const char* help, FaEmuLoc loc)
{
    const int64_t have = Ask(query);
    if (need > have) {
        MatmulError("matmul-tiling", loc, help, "the tiling's %s takes %lld bytes of %s, which has %lld", what,
                    static_cast<long long>(need), memory, static_cast<long long>(have));
    }
    return need <= have;
}

struct MatmulField {
    const char* name;
    int32_t value;
    int32_t least;
    int32_t most;
    int32_t unit;
};

inline bool MatmulFieldIsFine(const MatmulField& field, FaEmuLoc loc)
{
    if (field.value < field.least || field.value > field.most) {
        MatmulError("matmul-tiling", loc, "let the tiling be in the ranges that the guide gives for TCubeTiling",
                    "%s of the tiling is %d, it is %d to %d", field.name, field.value, field.least, field.most);
        return false;
    }
    if (field.value % field.unit != 0) {
        MatmulError("matmul-tiling", loc, "round the base block up to whole fractals",
                    "%s of the tiling is %d elements, no multiple of %d", field.name, field.value, field.unit);
        return false;
    }
    return true;
}

inline bool MatmulDepthIsFine(const char* name, int32_t depth, int32_t step, int32_t stepK, FaEmuLoc loc)
{
    const int32_t once = step * stepK;
    if (depth == once || depth == 2 * once) {
        return true;
    }
    MatmulError("matmul-tiling", loc, "make it the product of the steps, or twice that to load ahead",
                "%s of the tiling is %d base blocks, its steps make %d, or %d in two halves", name, depth, once,
                2 * once);
    return false;
}

/*! Whether the fields of a tiling make sense by themselves; reports each that does not. */
inline bool MatmulFieldsAreFine(const TCubeTiling& t, const MatmulWidths& widths, FaEmuLoc loc)
{
    constexpr int32_t most = 0x7fffffff;
    const int32_t group = widths.Group();
    const int32_t rows = MatmulWidths::kRows;
    const bool depthInRows = widths.transA || !widths.transB;
    const MatmulField fields[] = {
        {"M", t.M, 1, most, 1},
        {"N", t.N, 1, most, 1},
        {"Ka", t.Ka, 1, most, 1},
        {"Kb", t.Kb, 1, most, 1},
        {"singleCoreM", t.singleCoreM, 1, most, 1},
        {"singleCoreN", t.singleCoreN, 1, most, 1},
        {"singleCoreK", t.singleCoreK, 1, most, 1},
        {"baseM", t.baseM, 1, most, widths.transA ? widths.DepthUnit() : rows},
        {"baseN", t.baseN, 1, most, widths.transB ? rows : widths.DepthUnit()},
        {"baseK", t.baseK, 1, most, depthInRows ? widths.DepthUnit() : group},
        {"depthA1", t.depthA1, 1, most, 1},
        {"depthB1", t.depthB1, 1, most, 1},
        {"stepM", t.stepM, 1, most, 1},
        {"stepN", t.stepN, 1, most, 1},
        {"stepKa", t.stepKa, 1, most, 1},
        {"stepKb", t.stepKb, 1, most, 1},
        {"isBias", t.isBias, 0, 1, 1},
        {"iterateOrder", t.iterateOrder, 0, 1, 1},
        {"dbL0A", t.dbL0A, 1, 2, 1},
        {"dbL0B", t.dbL0B, 1, 2, 1},
        {"dbL0C", t.dbL0C, 1, 2, 1},
    };
    bool fine = true;
    for (const MatmulField& field : fields) {
        fine = MatmulFieldIsFine(field, loc) && fine;
    }
    return fine;
}

/*! Whether an object can work with a tiling; reports what does not fit. */
inline bool MatmulTilingIsFine(const TCubeTiling& t, const MatmulWidths& widths, FaEmuLoc loc)
{
    if (!MatmulFieldsAreFine(t, widths, loc)) {
        return false;
    }
    bool fine = MatmulDepthIsFine("depthA1", t.depthA1, t.stepM, t.stepKa, loc);
    fine = MatmulDepthIsFine("depthB1", t.depthB1, t.stepN, t.stepKb, loc) && fine;
    const char* smaller = "make the base block smaller, or hold one of it instead of two";
    fine = MatmulFits("dbL0A * baseM * baseK", "L0A", t.dbL0A * widths.L0aBytes(t), kUsableL0a, smaller, loc) && fine;
    fine = MatmulFits("dbL0B * baseK * baseN", "L0B", t.dbL0B * widths.L0bBytes(t), kUsableL0b, smaller, loc) && fine;
    fine = MatmulFits("dbL0C * baseM * baseN", "L0C", t.dbL0C * widths.L0cBytes(t), kUsableL0c, smaller, loc) && fine;
    if (t.isBias != 0) {
        const int64_t bias = widths.Block(t.baseN) * MatmulWidths::kSumBytes;
        fine = MatmulFits("row of bias, baseN", "BT", bias, kUsableBt, "make baseN smaller", loc) && fine;
    }
    if (fine) {
        int64_t most = 0;
        for (int i = 0; i < 4; ++i) {
            const bool transA = (i & 1) != 0 && widths.transA;
            const bool transB = (i & 2) != 0 && widths.transB;
            const int64_t bytes = MatmulL1Bytes(t, widths, transA, transB);
            most = bytes > most ? bytes : most;
        }
        fine = MatmulFits("depthA1 * baseM * baseK and depthB1 * baseK * baseN", "L1", most, kUsableL1,
                          "lower depthA1 or depthB1", loc);
    }
    return fine;
}
} // namespace fa_emu

#endif
