/*!
 * \file matmul_cube.h
 * \brief The cube core's half of a Matmul object, composed of copies to L1, loads, products and Fixpipe.
 *
 * Every flag that a request sets it also waits for, so that requests follow each other without a drain.
 */
#ifndef FA_EMU_MATMUL_CUBE_H
#define FA_EMU_MATMUL_CUBE_H

#include "matmul_operand.h"

namespace fa_emu {
/*! Runs one request. */
template <class A, class B, class C, const auto& CFG> class CubeProduct {
public:
    using T = typename A::T;
    using CT = typename C::T;
    using Sum = typename std::conditional<std::is_same<T, int8_t>::value, int32_t, float>::type;

    explicit CubeProduct(const MatmulRequest& request, int32_t sub)
        : r_(request), t_(request.tiling), sub_(sub), loc_(request.loc), widths_(Widths()),
          l1_(ReserveCube(AscendC::TPosition::A1, L1Bytes(), loc_)),
          l0a_(ReserveCube(AscendC::TPosition::A2, t_.dbL0A * widths_.L0aBytes(t_), loc_)),
          l0b_(ReserveCube(AscendC::TPosition::B2, t_.dbL0B * widths_.L0bBytes(t_), loc_)),
          l0c_(ReserveCube(AscendC::TPosition::CO1, t_.dbL0C * widths_.L0cBytes(t_), loc_)),
          bt_(ReserveCube(AscendC::TPosition::C2, request.bias == 0 ? 0 : BiasBytes(), loc_)),
          a_(ShapeOfA(), CFG.intrinsicsCheck, l1_, loc_), b_(ShapeOfB(), CFG.intrinsicsCheck, a_.End(), loc_),
          line_(b_.End()), loaded_{Loaded(loc_), Loaded(loc_)}, used_{Used(loc_), Used(loc_)},
          summed_{Summed(loc_), Summed(loc_)}, stored_{Stored(loc_), Stored(loc_)}, lineFreed_(loc_),
          lineReady_(loc_), tableFreed_(loc_)
    {}

    void Run()
    {
        const int32_t steps = r_.blocks * Depths();
        if (r_.hf32) {
            AscendC::SetHF32Mode(true, loc_);
            AscendC::SetHF32TransMode(r_.hf32ToZero, loc_);
        }
        if (r_.call == kMatmulTakeHeld) {
            Store(r_.first);
        } else {
            for (int32_t step = 0; step < steps; ++step) {
                Step(step);
            }
        }
        if (r_.hf32) {
            AscendC::SetHF32Mode(false, loc_);
        }
        used_[0].Wait();
        used_[1].Wait();
        stored_[0].Wait();
        stored_[1].Wait();
    }

    static MatmulWidths Widths()
    {
        MatmulWidths widths;
        widths.operand = sizeof(T);
        widths.transA = A::isTrans;
        widths.transB = B::isTrans;
        widths.multiLoad = CFG.doMultiDataLoad;
        return widths;
    }

private:
    using Loaded = CubeEvent<AscendC::HardEvent::MTE1_M>;
    using Used = CubeEvent<AscendC::HardEvent::M_MTE1>;
    using Summed = CubeEvent<AscendC::HardEvent::M_FIX>;
    using Stored = CubeEvent<AscendC::HardEvent::FIX_M>;
    struct Blocks {
        int32_t outer;
        int32_t depth;
    };
    static constexpr int32_t kGroup = AscendC::ONE_BLK_SIZE / sizeof(T);
    static constexpr int32_t kRows = MatmulWidths::kRows;
    static constexpr int32_t kDepth = kGroup > kRows ? kGroup : kRows;
    static constexpr bool kNz = C::format == CubeFormat::NZ;

    int64_t L1Bytes() const { return MatmulL1Bytes(t_, widths_, r_.a.transposed, r_.b.transposed); }
    int64_t BiasBytes() const { return UpTo<int64_t>(widths_.Block(t_.baseN) * MatmulWidths::kSumBytes, 64); }
    int32_t Depths() const { return AscendC::DivCeil(r_.k, t_.baseK); }
    MatmulBlock Block(int32_t index) const { return MatmulBlock::Of(r_, index); }
    auto ShapeOfA() const
    {
        using Shape = typename CubeOperand<T, A::format == CubeFormat::NZ>::Shape;
        return Shape{r_.a, MatmulCache::OfA(t_, CFG.doMultiDataLoad), r_.a.transposed, r_.m, r_.k, t_.baseM, t_.baseK};
    }
    auto ShapeOfB() const
    {
        using Shape = typename CubeOperand<T, B::format == CubeFormat::NZ>::Shape;
        return Shape{r_.b, MatmulCache::OfB(t_, CFG.doMultiDataLoad), !r_.b.transposed, r_.n, r_.k, t_.baseN, t_.baseK};
    }

    /*! Brings pieces to L1: those of a step, or what the steps behind it need, as far as there is room. */
    bool Fetch(int32_t step, bool ahead)
    {
        const int32_t steps = r_.blocks * Depths();
        const auto place = [this](int32_t at) { return Block(r_.first + at / Depths()); };
        const auto ofA = [&](int32_t at) { return Blocks{place(at).row, at % Depths()}; };
        const auto ofB = [&](int32_t at) { return Blocks{place(at).column, at % Depths()}; };
        const bool a = (ahead || !a_.Has(step)) && a_.Fetch(step, steps, ofA);
        const bool b = (ahead || !b_.Has(step)) && b_.Fetch(step, steps, ofB);
        return a || b;
    }

    /*! One base block of depth: pieces, loads, the product; at the end of a block of C, its store. */
    void Step(int32_t step)
    {
        while (Fetch(step, false)) {
        }
        const int32_t depth = step % Depths();
        const int32_t index = r_.first + step / Depths();
        const MatmulBlock block = Block(index);
        if (depth == 0) {
            LoadBias(block.columns);
        }
        const auto a = a_.Use(block.row, depth);
        const auto b = b_.Use(block.column, depth);
        while (Fetch(step, true)) {
        }
        const int32_t turns = t_.dbL0A < t_.dbL0B ? t_.dbL0A : t_.dbL0B;
        const int32_t turn = step % turns;
        used_[turn].Wait();
        LoadA(a, step % t_.dbL0A);
        LoadB(b, step % t_.dbL0B);
        loaded_[turn].Pass();
        const int32_t cSlot = Slot(index);
        if (depth == 0) {
            stored_[cSlot].Wait();
        }
        Multiply(a, b, step, cSlot, depth == 0);
        used_[turn].Set();
        if (depth + 1 == Depths() && r_.call != kMatmulHold) {
            Store(index);
        }
    }

    int32_t Slot(int32_t index) const
    {
        return r_.call == kMatmulBlocks ? (index - r_.first) % t_.dbL0C : 0;
    }

    static uint32_t Elements(uint32_t bytes) { return bytes / static_cast<uint32_t>(sizeof(T)); }
    AscendC::LocalTensor<T> L0a(int32_t slot) const
    {
        const uint32_t bytes = static_cast<uint32_t>(widths_.L0aBytes(t_));
        return {AscendC::TPosition::A2, l0a_ + static_cast<uint32_t>(slot) * bytes, Elements(bytes)};
    }
    AscendC::LocalTensor<T> L0b(int32_t slot) const
    {
        const uint32_t bytes = static_cast<uint32_t>(widths_.L0bBytes(t_));
        return {AscendC::TPosition::B2, l0b_ + static_cast<uint32_t>(slot) * bytes, Elements(bytes)};
    }
    AscendC::LocalTensor<Sum> L0c(int32_t slot) const
    {
        const uint32_t bytes = static_cast<uint32_t>(widths_.L0cBytes(t_));
        return {AscendC::TPosition::CO1, l0c_ + static_cast<uint32_t>(slot) * bytes, bytes / MatmulWidths::kSumBytes};
    }

    /*! A matrix of column groups as an image of one row: rows and columns of it, to an operand buffer. */
    template <typename View> AscendC::LoadData3DParamsV2<T> Image(
        const View& view, MatmulSpan rows, MatmulSpan columns, int32_t rowUnit) const
    {
        AscendC::LoadData3DParamsV2<T> load;
        load.l1H = 1;
        load.l1W = static_cast<uint16_t>(view.height);
        load.channelSize = static_cast<uint16_t>(view.columns);
        load.kExtension = static_cast<uint16_t>(UpTo(columns.count, kGroup));
        load.mExtension = static_cast<uint16_t>(UpTo(rows.count, rowUnit));
        load.kStartPt = static_cast<uint16_t>(columns.start);
        load.mStartPt = static_cast<uint16_t>(rows.start);
        return load;
    }

    template <typename View> void LoadA(const View& view, int32_t slot)
    {
        if (r_.a.transposed) {
            AscendC::LoadData3DParamsV2<T> load = Image(view, view.depth, view.outer, kDepth);
            load.enTranspose = true;
            AscendC::LoadData(L0a(slot), view.piece, load, loc_);
        } else {
            AscendC::LoadData(L0a(slot), view.piece, Image(view, view.outer, view.depth, kRows), loc_);
        }
    }

    template <typename View> void LoadB(const View& view, int32_t slot)
    {
        if (!r_.b.transposed) {
            AscendC::LoadData(L0b(slot), view.piece, Image(view, view.depth, view.outer, kDepth), loc_);
            return;
        }
        const int32_t columns = UpTo(view.outer.count, kRows);
        AscendC::LoadData2DParams load;
        load.repeatTimes = static_cast<uint8_t>(columns / kRows);
        load.srcStride = 1;
        const AscendC::LocalTensor<T> dst = L0b(slot);
        for (int32_t group = 0; group * kGroup < view.depth.count; ++group) {
            const int32_t row = (view.depth.start / kGroup + group) * view.height + view.outer.start;
            load.startIndex = static_cast<uint16_t>(row / kRows);
            AscendC::LoadData(dst[static_cast<uint32_t>(group * columns * kGroup)], view.piece, load, loc_);
        }
    }

    template <typename ViewA, typename ViewB>
    void Multiply(const ViewA& a, const ViewB& b, int32_t step, int32_t cSlot, bool first)
    {
        AscendC::MmadParams mmad;
        // A single row would be taken for a vector.
        mmad.m = static_cast<uint16_t>(a.outer.count == 1 ? kRows : a.outer.count);
        // Right operands of bytes that are stored by rows have whole groups of columns.
        mmad.n = static_cast<uint16_t>(r_.b.transposed ? b.outer.count : UpTo(b.outer.count, kGroup));
        mmad.k = static_cast<uint16_t>(a.depth.count);
        mmad.kDirectionAlign = r_.a.transposed && sizeof(T) == sizeof(float);
        mmad.cmatrixInitVal = first && !r_.accumulate;
        const AscendC::LocalTensor<Sum> sums = L0c(cSlot);
        if (first && r_.bias != 0) {
            AscendC::Mmad(sums, L0a(step % t_.dbL0A), L0b(step % t_.dbL0B), Table(), mmad, loc_);
        } else {
            AscendC::Mmad(sums, L0a(step % t_.dbL0A), L0b(step % t_.dbL0B), mmad, loc_);
        }
        // Small products into the same sums overlap in the unit.
        const int32_t squares = AscendC::DivCeil<int32_t>(mmad.m, kRows) * AscendC::DivCeil<int32_t>(mmad.n, kRows);
        if (squares < Ask(kOverlapFractals)) {
            AscendC::PipeBarrier<PIPE_M>(loc_);
        }
    }

    AscendC::LocalTensor<Sum> Table() const
    {
        return {AscendC::TPosition::C2, bt_, static_cast<uint32_t>(BiasBytes()) / MatmulWidths::kSumBytes};
    }

    /*! A row of global memory, in L1 as it is. */
    template <typename V> AscendC::LocalTensor<V> LoadLine(uint64_t address, uint32_t start, MatmulSpan span)
    {
        AscendC::GlobalTensor<V> gm;
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ V*>(address));
        const uint32_t bytes = static_cast<uint32_t>(widths_.Block(t_.baseN)) * MatmulWidths::kScaleBytes;
        const AscendC::LocalTensor<V> line(AscendC::TPosition::A1, start, bytes / static_cast<uint32_t>(sizeof(V)));
        AscendC::DataCopy(line, gm[static_cast<uint64_t>(span.start)],
                          AscendC::Nd2NzParams(1, 1, static_cast<uint16_t>(span.count), 0,
                                               static_cast<uint16_t>(span.count), 1, 1, 0), loc_);
        return line;
    }

    void LoadBias(MatmulSpan columns)
    {
        if (r_.bias == 0) {
            return;
        }
        lineFreed_.Pass();
        const AscendC::LocalTensor<Sum> line = LoadLine<Sum>(r_.bias, line_, columns);
        lineReady_.Pass();
        tableFreed_.Pass();
        const int32_t bytes = UpTo<int32_t>(columns.count * static_cast<int32_t>(sizeof(Sum)), 64);
        AscendC::DataCopy(Table(), line, AscendC::DataCopyParams(1, static_cast<uint16_t>(bytes / 64), 0, 0), loc_);
    }

    void Store(int32_t index)
    {
        const auto [row, column, rows, columns] = Block(index);
        (void)row;
        (void)column;
        const int32_t slot = Slot(index);
        summed_[slot].Pass();
        if (index == r_.first) {
            AscendC::PipeBarrier<PIPE_FIX>(loc_);
        }
        AscendC::FixpipeParamsV220 fix;
        fix.nSize = static_cast<uint16_t>(kNz ? UpTo(columns.count, kWidth) : columns.count);
        fix.mSize = static_cast<uint16_t>(rows.count);
        fix.srcStride = static_cast<uint16_t>(UpTo(rows.count, kRows));
        const int32_t pitch = !r_.dense ? r_.cPitch : kNz ? UpTo(rows.count, kRows) : DenseWidth(columns.count);
        constexpr int32_t groupBytes = kWidth * static_cast<int32_t>(sizeof(CT));
        fix.dstStride = static_cast<uint32_t>(kNz ? pitch * groupBytes / AscendC::ONE_BLK_SIZE : pitch);
        const int64_t place = kNz ? int64_t{columns.start} * pitch + int64_t{rows.start} * kWidth
                                  : int64_t{rows.start} * pitch + columns.start;
        const int64_t at = r_.dense ? int64_t{index - r_.first} * r_.cStep : place;
        Move(at, slot, columns, fix);
        stored_[slot].Set();
        const int32_t done = index - r_.first + 1;
        if (r_.answerEvery != 0 && (done % r_.answerEvery == 0 || done == r_.blocks)) {
            AnswerMatmul(r_.object, sub_, loc_);
        }
    }

    static int32_t DenseWidth(int32_t columns)
    {
        constexpr int32_t unit = AscendC::ONE_BLK_SIZE / sizeof(CT);
        return C::format == CubeFormat::ND_ALIGN ? UpTo(columns, unit) : columns;
    }

    void Move(int64_t at, int32_t slot, MatmulSpan columns, AscendC::FixpipeParamsV220& fix)
    {
        AscendC::GlobalTensor<CT> gm;
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ CT*>(r_.c));
        fix.quantPre = Conversion(r_.scales != 0);
        fix.deqScalar = r_.scale;
        SetAtomic();
        constexpr const AscendC::FixpipeConfig& format = kNz ? AscendC::CFG_NZ : AscendC::CFG_ROW_MAJOR;
        if (r_.scales != 0) {
            const AscendC::LocalTensor<uint64_t> scales = LoadScales(columns);
            AscendC::Fixpipe<CT, Sum, format>(gm[static_cast<uint64_t>(at)], L0c(slot), scales, fix, loc_);
            CubeEvent<AscendC::HardEvent::FIX_MTE2>(loc_).Pass();
        } else {
            AscendC::Fixpipe<CT, Sum, format>(gm[static_cast<uint64_t>(at)], L0c(slot), fix, loc_);
        }
        if (r_.atomic != 0) {
            AscendC::SetAtomicNone(loc_);
        }
    }

    AscendC::LocalTensor<uint64_t> LoadScales(MatmulSpan columns)
    {
        const uint32_t start = line_ + static_cast<uint32_t>(widths_.Block(t_.baseN)) * MatmulWidths::kSumBytes;
        const MatmulSpan words{columns.start * 2, columns.count * 2};
        const AscendC::LocalTensor<uint64_t> scales =
            LoadLine<uint32_t>(r_.scales, start, words).template ReinterpretCast<uint64_t>();
        CubeEvent<AscendC::HardEvent::MTE2_FIX>(loc_).Pass();
        return scales;
    }

    void SetAtomic()
    {
        switch (r_.atomic) {
            case 1: AscendC::SetAtomicAdd<CT>(loc_); break;
            case 2: AscendC::SetAtomicMax<CT>(loc_); break;
            case 3: AscendC::SetAtomicMin<CT>(loc_); break;
            default: break;
        }
    }

    static QuantMode_t Conversion(bool columns)
    {
        if constexpr (std::is_same<CT, Sum>::value) {
            return QuantMode_t::NoQuant;
        } else if constexpr (std::is_same<CT, bfloat16_t>::value) {
            return QuantMode_t::F322BF16;
        } else if constexpr (std::is_same<CT, half>::value) {
            return std::is_same<Sum, float>::value ? QuantMode_t::F322F16
                   : columns                       ? QuantMode_t::VDEQF16
                                                   : QuantMode_t::DEQF16;
        } else if constexpr (std::is_same<Sum, float>::value) {
            return columns ? QuantMode_t::VQF322B8_PRE : QuantMode_t::QF322B8_PRE;
        } else {
            return columns ? QuantMode_t::VREQ8 : QuantMode_t::REQ8;
        }
    }

    static constexpr int32_t kWidth = sizeof(CT) == 1 ? AscendC::ONE_BLK_SIZE : kRows; // columns of a group of C

    const MatmulRequest& r_;
    const TCubeTiling& t_;
    int32_t sub_;
    FaEmuLoc loc_;
    MatmulWidths widths_;
    uint32_t l1_;
    uint32_t l0a_;
    uint32_t l0b_;
    uint32_t l0c_;
    uint32_t bt_;
    CubeOperand<T, A::format == CubeFormat::NZ> a_;
    CubeOperand<T, B::format == CubeFormat::NZ> b_;
    uint32_t line_; // byte of L1 where a row of bias goes, and scales behind it
    Loaded loaded_[2];
    Used used_[2];
    Summed summed_[2];
    Stored stored_[2];
    CubeEvent<AscendC::HardEvent::MTE1_MTE2> lineFreed_;
    CubeEvent<AscendC::HardEvent::MTE2_MTE1> lineReady_;
    CubeEvent<AscendC::HardEvent::M_MTE1> tableFreed_;
};
} // namespace fa_emu

#endif
