// Two products with a vector pass between them, exchanged through global memory tile by tile: what the published
// figures of fused kernels were measured on, reduced to its traffic and its work.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t kRows = 128;
constexpr int32_t kDepth = 128;
constexpr int32_t kSub = 128;
constexpr int32_t kHalfRows = kRows / 2;
constexpr int32_t kSquare = kSub * kSub;

struct Shape {
    int32_t cols;      // of a tile
    int32_t tiles;     // of a block
    int32_t blocks;    // in all
    int32_t lead;      // groups of tiles that the first product runs ahead; 0 is serial
    int32_t group;     // tiles per synchronisation
    int32_t halfWidth; // scores of 2 bytes instead of 4
};

class Cube {
public:
    __aicore__ inline Cube(const Shape& shape, GM_ADDR data, GM_ADDR ring) : shape_(shape)
    {
        data_.SetGlobalBuffer((__gm__ half*)data);
        const int64_t cells = static_cast<int64_t>(kRows) * shape.cols;
        slots_ = (shape.lead + 1) * shape.group;
        GM_ADDR own = ring + get_block_idx() * slots_ * (cells * 6 + kRows * kDepth * 4);
        scores_.SetGlobalBuffer((__gm__ float*)own);
        halves_.SetGlobalBuffer((__gm__ half*)own);
        weights_.SetGlobalBuffer((__gm__ half*)(own + slots_ * cells * 4));
        partial_.SetGlobalBuffer((__gm__ float*)(own + slots_ * cells * 6));
    }

    __aicore__ inline void Run()
    {
        Flags(true);
        for (int32_t block = get_block_idx(); block < shape_.blocks; block += get_block_num()) {
            const int32_t groups = shape_.tiles / shape_.group;
            for (int32_t step = 0; step < groups + shape_.lead; ++step) {
                if (step < groups) {
                    for (int32_t i = 0; i < shape_.group; ++i) {
                        First(step * shape_.group + i);
                    }
                    CrossCoreSetFlag<2, PIPE_FIX>(0);
                }
                if (step >= shape_.lead) {
                    CrossCoreWaitFlag(1);
                    for (int32_t i = 0; i < shape_.group; ++i) {
                        Second((step - shape_.lead) * shape_.group + i);
                    }
                    CrossCoreSetFlag<2, PIPE_FIX>(2);
                }
            }
        }
        Flags(false);
    }

private:
    static constexpr int32_t kSlots = 4; // of L1

    __aicore__ inline void Flags(bool set)
    {
        for (int32_t slot = 0; slot < kSlots; ++slot) {
            if (set) {
                SetFlag<HardEvent::MTE1_MTE2>(slot);
            } else {
                WaitFlag<HardEvent::MTE1_MTE2>(slot);
            }
        }
        for (int32_t slot = 0; slot < 2; ++slot) {
            if (set) {
                SetFlag<HardEvent::M_MTE1>(slot);
                SetFlag<HardEvent::FIX_M>(slot);
            } else {
                WaitFlag<HardEvent::M_MTE1>(slot);
                WaitFlag<HardEvent::FIX_M>(slot);
            }
        }
    }

    __aicore__ inline void Load(int32_t at, const GlobalTensor<half>& from, int32_t pitch)
    {
        LocalTensor<half> l1(TPosition::A1, at, kSquare);
        DataCopy(l1, from, Nd2NzParams(1, kSub, kSub, 0, pitch, kSub, 1, 0));
    }

    __aicore__ inline void Multiply(int32_t left, int32_t right, bool start)
    {
        const LoadData2DParams load(0, 64, 1, 0, 0, false, 0);
        LocalTensor<half> a(TPosition::A2, operand_ * 32768, kSquare);
        LocalTensor<half> b(TPosition::B2, operand_ * 32768, kSquare);
        LocalTensor<float> c(TPosition::CO1, sum_ * 65536, kSquare);
        WaitFlag<HardEvent::M_MTE1>(operand_);
        LoadData(a, LocalTensor<half>(TPosition::A1, left, kSquare), load);
        LoadData(b, LocalTensor<half>(TPosition::A1, right, kSquare), load);
        SetFlag<HardEvent::MTE1_MTE2>(slot_);
        SetFlag<HardEvent::MTE1_M>(operand_);
        WaitFlag<HardEvent::MTE1_M>(operand_);
        Mmad(c, a, b, MmadParams(kSub, kSub, kSub, 0, false, start));
        SetFlag<HardEvent::M_MTE1>(operand_);
        operand_ ^= 1;
        slot_ = (slot_ + 1) % kSlots;
    }

    template <typename T, QuantMode_t mode> __aicore__ inline void Store(const GlobalTensor<T>& to, int32_t pitch)
    {
        SetFlag<HardEvent::M_FIX>(sum_);
        WaitFlag<HardEvent::M_FIX>(sum_);
        FixpipeParamsV220 fix(kSub, kRows, kRows, pitch, false);
        fix.quantPre = mode;
        Fixpipe<T, float, CFG_ROW_MAJOR>(to, LocalTensor<float>(TPosition::CO1, sum_ * 65536, kSquare), fix);
        SetFlag<HardEvent::FIX_M>(sum_);
        sum_ ^= 1;
    }

    __aicore__ inline void First(int32_t tile)
    {
        const int64_t slot = tile % slots_ * static_cast<int64_t>(kRows) * shape_.cols;
        for (int32_t col = 0; col < shape_.cols; col += kSub) {
            const int64_t key = (static_cast<int64_t>(tile) * shape_.cols + col) * kDepth;
            WaitFlag<HardEvent::MTE1_MTE2>(slot_);
            Load(32768 + slot_ * 65536, data_[key], kDepth);
            SetFlag<HardEvent::MTE2_MTE1>(slot_);
            WaitFlag<HardEvent::MTE2_MTE1>(slot_);
            WaitFlag<HardEvent::FIX_M>(sum_);
            Multiply(0, 32768 + slot_ * 65536, true);
            if (shape_.halfWidth != 0) {
                Store<half, QuantMode_t::F322F16>(halves_[slot + col], shape_.cols);
            } else {
                Store<float, QuantMode_t::NoQuant>(scores_[slot + col], shape_.cols);
            }
        }
    }

    __aicore__ inline void Second(int32_t tile)
    {
        const int64_t slot = tile % slots_ * static_cast<int64_t>(kRows) * shape_.cols;
        WaitFlag<HardEvent::FIX_M>(sum_);
        for (int32_t col = 0; col < shape_.cols; col += kSub) {
            const int64_t key = (static_cast<int64_t>(tile) * shape_.cols + col) * kDepth;
            WaitFlag<HardEvent::MTE1_MTE2>(slot_);
            Load(32768 + slot_ * 65536, weights_[slot + col], shape_.cols);
            Load(65536 + slot_ * 65536, data_[key + (8 << 20)], kDepth);
            SetFlag<HardEvent::MTE2_MTE1>(slot_);
            WaitFlag<HardEvent::MTE2_MTE1>(slot_);
            Multiply(32768 + slot_ * 65536, 65536 + slot_ * 65536, col == 0);
        }
        Store<float, QuantMode_t::NoQuant>(partial_[tile % slots_ * static_cast<int64_t>(kRows) * kDepth], kDepth);
    }

    const Shape& shape_;
    GlobalTensor<half> data_;
    GlobalTensor<float> scores_;
    GlobalTensor<half> halves_;
    GlobalTensor<half> weights_;
    GlobalTensor<float> partial_;
    int32_t slots_ = 1;
    int32_t slot_ = 0;
    int32_t operand_ = 0;
    int32_t sum_ = 0;
};

class Vector {
public:
    __aicore__ inline Vector(const Shape& shape, GM_ADDR ring) : shape_(shape)
    {
        const int64_t cells = static_cast<int64_t>(kRows) * shape.cols;
        slots_ = (shape.lead + 1) * shape.group;
        GM_ADDR own = ring + get_block_idx() * slots_ * (cells * 6 + kRows * kDepth * 4);
        scores_.SetGlobalBuffer((__gm__ float*)own);
        halves_.SetGlobalBuffer((__gm__ half*)own);
        weights_.SetGlobalBuffer((__gm__ half*)(own + slots_ * cells * 4));
        partial_.SetGlobalBuffer((__gm__ float*)(own + slots_ * cells * 6));
    }

    __aicore__ inline void Run()
    {
        for (int32_t slot = 0; slot < kInputs; ++slot) {
            SetFlag<HardEvent::V_MTE2>(slot);
        }
        SetFlag<HardEvent::MTE3_V>(0);
        SetFlag<HardEvent::MTE3_V>(1);
        for (int32_t block = get_block_idx(); block < shape_.blocks; block += get_block_num()) {
            const int32_t groups = shape_.tiles / shape_.group;
            for (int32_t step = 0; step < groups + shape_.lead; ++step) {
                if (step < groups) {
                    CrossCoreWaitFlag(0);
                    for (int32_t i = 0; i < shape_.group; ++i) {
                        Weigh(step * shape_.group + i);
                    }
                    CrossCoreSetFlag<2, PIPE_MTE3>(1);
                }
                if (step >= shape_.lead) {
                    CrossCoreWaitFlag(2);
                    for (int32_t i = 0; i < shape_.group; ++i) {
                        Accumulate((step - shape_.lead) * shape_.group + i);
                    }
                }
            }
        }
        for (int32_t slot = 0; slot < kInputs; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(slot);
        }
        WaitFlag<HardEvent::MTE3_V>(0);
        WaitFlag<HardEvent::MTE3_V>(1);
    }

private:
    static constexpr int32_t kInputs = 3; // pieces of UB that loads fill
    static constexpr int32_t kCells = 8192; // of one step: 32 KiB of float

    __aicore__ inline LocalTensor<float> Floats(int32_t at) { return LocalTensor<float>(TPosition::VECCALC, at, kCells); }
    __aicore__ inline void Line() { PipeBarrier<PIPE_V>(); }

    // The second half of twice `cells`, moved on by half the bank groups.
    static __aicore__ inline int32_t Other(int32_t cells) { return cells == kCells / 2 ? cells - 64 : cells + 64; }

    // Columns folded in halves down to one repeat a row.
    template <bool maximum> __aicore__ inline void Fold(const LocalTensor<float>& from, int32_t cells)
    {
        LocalTensor<float> temp = Floats(131072);
        LocalTensor<float> source = from;
        for (int32_t width = shape_.cols / 2; width >= 64; width /= 2) {
            cells /= 2;
            if constexpr (maximum) {
                Max(temp, source, source[Other(cells)], cells);
            } else {
                Add(temp, source, source[Other(cells)], cells);
            }
            Line();
            source = temp;
        }
        const LocalTensor<float> folded = Floats(184320);
        if constexpr (maximum) {
            BlockReduceMax<float>(folded, source, cells / 64, 64, 1, 1, 8);
            Line();
            BlockReduceMax<float>(folded, folded, (cells / 8 + 63) / 64, 64, 1, 1, 8);
        } else {
            BlockReduceSum<float>(folded, source, cells / 64, 64, 1, 1, 8);
            Line();
            BlockReduceSum<float>(folded, folded, (cells / 8 + 63) / 64, 64, 1, 1, 8);
        }
        Line();
    }

    __aicore__ inline void Small(int32_t count)
    {
        LocalTensor<float> value(TPosition::VECCALC, 180224, 64);
        for (int32_t i = 0; i < count; ++i) {
            Muls(value, value, 1.0f, 64);
            Line();
        }
    }

    __aicore__ inline void Weigh(int32_t tile)
    {
        const int64_t slot = tile % slots_ * static_cast<int64_t>(kRows) * shape_.cols;
        const int64_t first = slot + GetSubBlockIdx() * static_cast<int64_t>(kHalfRows) * shape_.cols;
        const int32_t all = kHalfRows * shape_.cols;
        for (int32_t at = 0; at < all; at += kCells) {
            const int32_t cells = all - at < kCells ? all - at : kCells;
            LocalTensor<float> x = Floats(slot_ * 32768);
            LocalTensor<float> wide = Floats(147456);
            LocalTensor<half> out(TPosition::VECCALC, 98304 + out_ * 16384, kCells);
            WaitFlag<HardEvent::V_MTE2>(slot_);
            if (shape_.halfWidth != 0) {
                DataCopy(x.ReinterpretCast<half>(), halves_[first + at], cells);
            } else {
                DataCopy(x, scores_[first + at], cells);
            }
            SetFlag<HardEvent::MTE2_V>(slot_);
            WaitFlag<HardEvent::MTE2_V>(slot_);
            if (shape_.halfWidth != 0) {
                Cast(wide, x.ReinterpretCast<half>(), RoundMode::CAST_NONE, cells);
                Line();
            } else {
                wide = x;
            }
            Fold<true>(wide, cells);
            Small(4);
            // The row's maximum, one block a row, from another bank group.
            const BinaryRepeatParams byRow(1, 1, 0, 8, 8, 0);
            Sub(wide, wide, LocalTensor<float>(TPosition::VECCALC, 180480, 64), 64, cells / 64, byRow);
            Line();
            Exp(wide, wide, cells);
            Line();
            WaitFlag<HardEvent::MTE3_V>(out_);
            Cast(out, wide, RoundMode::CAST_RINT, cells);
            Line();
            Fold<false>(wide, cells);
            Small(3);
            SetFlag<HardEvent::V_MTE2>(slot_);
            SetFlag<HardEvent::V_MTE3>(out_);
            WaitFlag<HardEvent::V_MTE3>(out_);
            DataCopy(weights_[first + at], out, cells);
            SetFlag<HardEvent::MTE3_V>(out_);
            out_ ^= 1;
            slot_ = (slot_ + 1) % kInputs;
        }
    }

    __aicore__ inline void Accumulate(int32_t tile)
    {
        const int64_t from = (tile % slots_ * kRows + GetSubBlockIdx() * kHalfRows) * static_cast<int64_t>(kDepth);
        LocalTensor<float> x = Floats(slot_ * 32768);
        LocalTensor<float> sum = Floats(131072 + 256);
        WaitFlag<HardEvent::V_MTE2>(slot_);
        DataCopy(x, partial_[from], kHalfRows * kDepth);
        SetFlag<HardEvent::MTE2_V>(slot_);
        WaitFlag<HardEvent::MTE2_V>(slot_);
        Muls(sum, sum, 1.0f, kHalfRows * kDepth);
        Line();
        Add(sum, sum, x, kHalfRows * kDepth);
        Line();
        SetFlag<HardEvent::V_MTE2>(slot_);
        slot_ = (slot_ + 1) % kInputs;
    }

    const Shape& shape_;
    GlobalTensor<float> scores_;
    GlobalTensor<half> halves_;
    GlobalTensor<half> weights_;
    GlobalTensor<float> partial_;
    int32_t slots_ = 1;
    int32_t slot_ = 0;
    int32_t out_ = 0;
};

extern "C" __global__ __aicore__ void exchange(uint64_t sync, GM_ADDR data, GM_ADDR ring, Shape shape)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    SetSyncBaseAddr(sync);
    if ASCEND_IS_AIC {
        Cube(shape, data, ring).Run();
    }
    if ASCEND_IS_AIV {
        Vector(shape, ring).Run();
    }
    PipeBarrier<PIPE_ALL>();
}
