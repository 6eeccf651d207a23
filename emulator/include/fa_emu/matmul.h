/*!
 * \file matmul.h
 * \brief The Matmul object: what a kernel calls on the vector cores, or on the cube core with ASCENDC_CUBE_ONLY.
 *
 * A vector core sends what it is asked to compute to the cube core of its block, which serves its vector cores from
 * REGIST_MATMUL_OBJ until they have ended. Results for UB come by way of the system workspace.
 */
#ifndef FA_EMU_MATMUL_H
#define FA_EMU_MATMUL_H

#include "matmul_state.h"
#include "softmax.h"

/*! A call of the class that is refused. */
#define FA_EMU_NO_MATMUL_CALL(name, text)                 \
    template <typename... Args> void name(Args&&...)      \
    {                                                     \
        static_assert(sizeof...(Args) > 1000, text);      \
    }

namespace AscendC {
template <
    class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
    class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>>
class Matmul : public fa_emu::MatmulState {
public:
    using SrcT = typename A_TYPE::T;
    using SrcAT = typename A_TYPE::T;
    using SrcBT = typename B_TYPE::T;
    using DstT = typename C_TYPE::T;
    using BiasT = typename BIAS_TYPE::T;
    static_assert(std::is_same<MM_CB, MatmulCallBackFunc<nullptr, nullptr, nullptr>>::value,
                  "MatmulCallBackFunc is not emulated: the object copies by itself");
    static_assert(fa_emu::MatmulIsEmulated<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG>(), "not emulated");
    static_assert(!fa_emu::kMatmulCubeOnly ||
                      (A_TYPE::pos == TPosition::GM && B_TYPE::pos == TPosition::GM && C_TYPE::pos == TPosition::GM),
                  "with ASCENDC_CUBE_ONLY the operands and the result are in GM");

    void Init(const TCubeTiling* __restrict tiling, TPipe* tpipe = nullptr, FA_EMU_HERE)
    {
        (void)tpipe;
        SetTiling(tiling, Product::Widths(), emuLoc);
    }
    void SetOrgShape(int orgM, int orgN, int orgK) { SetOrgShape(orgM, orgN, orgK, orgK); }
    void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0)
    {
        static_assert(MM_CFG.enableSetOrgShape, "the MatmulConfig promises that SetOrgShape is not called");
        orgM_ = orgM;
        orgN_ = orgN;
        orgKa_ = orgKa;
        orgKb_ = orgKb;
        orgKc_ = orgKc;
    }
    void SetSingleShape(int singleM, int singleN, int singleK) { SetTail(singleM, singleN, singleK); }
    void SetTail(int tailM = -1, int tailN = -1, int tailK = -1)
    {
        static_assert(MM_CFG.enableSetTail, "the MatmulConfig promises that SetTail and SetSingleShape are not called");
        request_.m = tailM == -1 ? request_.m : tailM;
        request_.n = tailN == -1 ? request_.n : tailN;
        request_.k = tailK == -1 ? request_.k : tailK;
        Restart();
    }

    void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false, FA_EMU_HERE)
    {
        static_assert(A_TYPE::pos == TPosition::GM, "this object takes A from UB: pass a LocalTensor");
        SetA(gm.GetPhyAddr(), isTransposeA, emuLoc);
    }
    void SetTensorA(const LocalTensor<SrcAT>& leftMatrix, bool isTransposeA = false, FA_EMU_HERE)
    {
        static_assert(A_TYPE::pos == TPosition::VECOUT, "this object takes A from GM: pass a GlobalTensor");
        localA_ = leftMatrix;
        SetA(nullptr, isTransposeA, emuLoc);
    }
    void SetTensorA(SrcAT)
    {
        FA_EMU_ABSENT(SrcAT, "SetTensorA with a scalar is not emulated: pass a row that holds it");
    }
    void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false, FA_EMU_HERE)
    {
        static_assert(B_TYPE::pos == TPosition::GM, "this object takes B from UB: pass a LocalTensor");
        SetB(gm.GetPhyAddr(), isTransposeB, emuLoc);
    }
    void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false, FA_EMU_HERE)
    {
        static_assert(B_TYPE::pos == TPosition::VECOUT, "this object takes B from GM: pass a GlobalTensor");
        localB_ = rightMatrix;
        SetB(nullptr, isTransposeB, emuLoc);
    }
    void SetTensorB(SrcBT)
    {
        FA_EMU_ABSENT(SrcBT, "SetTensorB with a scalar is not emulated: pass a matrix that holds it");
    }
    void SetBias(const GlobalTensor<BiasT>& biasGlobal, FA_EMU_HERE)
    {
        static_assert(BIAS_TYPE::pos == TPosition::GM, "this object takes its bias from UB: pass a LocalTensor");
        SetBiasAddress(reinterpret_cast<uint64_t>(biasGlobal.GetPhyAddr()), emuLoc);
    }
    void SetBias(const LocalTensor<BiasT>& inputBias, FA_EMU_HERE)
    {
        static_assert(BIAS_TYPE::pos == TPosition::VECOUT, "this object takes its bias from GM: pass a GlobalTensor");
        localBias_ = inputBias;
        SetBiasAddress(kInUb, emuLoc);
    }
    void DisableBias()
    {
        bias_ = 0;
        biased_ = false;
    }
    void ClearBias() { DisableBias(); }
    void SetQuantScalar(const uint64_t quantScalar)
    {
        CheckQuant();
        request_.scale = quantScalar;
        request_.scales = 0;
        scaled_ = true;
    }
    void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor)
    {
        CheckQuant();
        request_.scales = reinterpret_cast<uint64_t>(quantTensor.GetPhyAddr());
        scaled_ = true;
    }
    template <typename S> void SetQuantVector(const LocalTensor<S>&)
    {
        FA_EMU_ABSENT(S, "SetQuantVector from L1 is not emulated: keep the scales in GM");
    }
    /*! For the cube core alone, as the guide has it. */
    template <bool cubeOnly = fa_emu::kMatmulCubeOnly> void SetHF32(bool enableHF32 = false, int32_t transMode = 0)
    {
        static_assert(cubeOnly, "SetHF32 goes with ASCENDC_CUBE_ONLY");
        request_.hf32 = enableHF32;
        request_.hf32ToZero = transMode != 0;
    }
    template <class T> void SetWorkspace(GlobalTensor<T>& addr) { SetWorkspace(addr.GetPhyAddr(), 0); }
    template <class T> void SetWorkspace(__gm__ const T* addr, int)
    {
        workspace_ = reinterpret_cast<uint64_t>(addr);
    }
    /*! UB in which other chips rearrange operands; nothing is rearranged there on this one. */
    void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    /*! Only `GetSubBlockIdx` reads it. */
    void SetSubBlockIdx(uint8_t subBlockIdx) { sub_ = subBlockIdx; }
    uint8_t GetSubBlockIdx() { return static_cast<uint8_t>(sub_ < 0 ? fa_emu::Ask(fa_emu::kSubBlockIdx) : sub_); }

    template <bool sync = true> bool Iterate(bool enPartialSum = false, FA_EMU_HERE)
    {
        static_assert((MM_CFG.iterateMode & ITERATE_MODE_NORMAL) != 0,
                      "the MatmulConfig promises that Iterate is not called");
        if (!Ready("Iterate", kQuantises, emuLoc) || !Free(emuLoc) || block_ >= Blocks()) {
            return false;
        }
        if constexpr (sync) {
            return IterateNow(enPartialSum, emuLoc);
        } else {
            return IterateBehind(enPartialSum, emuLoc);
        }
    }
    template <bool sync = true, typename T> bool Iterate(bool, const LocalTensor<T>&)
    {
        FA_EMU_ABSENT(T, "Iterate into a tensor of CO1 is not emulated: take the block with GetTensorC");
        return false;
    }

    template <bool sync = true>
    void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false, FA_EMU_HERE)
    {
        CheckGetTensorC();
        static_assert(C_TYPE::pos == TPosition::GM, "this object gives C to UB: pass a LocalTensor");
        if (!HasBlock(emuLoc)) {
            return;
        }
        fa_emu::MatmulRequest request = Taking(enAtomic, enSequentialWrite, emuLoc);
        request.c = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
        Ask(request, sync, false, emuLoc);
    }

    template <bool sync = true>
    void GetTensorC(
        const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0, bool enSequentialWrite = false, FA_EMU_HERE)
    {
        CheckGetTensorC();
        static_assert(C_TYPE::pos != TPosition::GM, "this object gives C to GM: pass a GlobalTensor");
        if (!PlainResult(enAtomic, emuLoc)) {
            return;
        }
        if (behind_) {
            const int32_t block = taken_;
            const GlobalTensor<DstT> gm = GetTensorC<sync>(enAtomic, enSequentialWrite, emuLoc);
            CopyOut(co2Local, gm, 0, DenseCount(block), sync, emuLoc);
        } else if (HasBlock(emuLoc)) {
            fa_emu::MatmulRequest request = Taking(0, enSequentialWrite, emuLoc);
            ToUb(request, co2Local, enSequentialWrite ? DenseCount(request.first) : WholeCount(), request.first,
                 enSequentialWrite, emuLoc);
        }
    }

    /*! The block of an asynchronous Iterate in the workspace that SetWorkspace named. */
    template <bool sync = true>
    GlobalTensor<DstT> GetTensorC(uint8_t enAtomic = 0, bool enSequentialWrite = false, FA_EMU_HERE)
    {
        CheckGetTensorC();
        (void)enSequentialWrite;
        GlobalTensor<DstT> gm;
        if (!PlainResult(enAtomic, emuLoc)) {
            return gm;
        }
        if (!behind_ || taken_ >= Blocks()) {
            fa_emu::MatmulError("matmul-order", emuLoc, "call Iterate<false> once, and GetTensorC once a block of C",
                                "GetTensorC finds no block: %d of %d are taken", behind_ ? taken_ : 0,
                                behind_ ? Blocks() : 0);
            return gm;
        }
        if (taken_ % AnswerEvery() == 0) {
            Await(emuLoc);
        }
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ DstT*>(workspace_) + int64_t{taken_} * BlockElements());
        ++taken_;
        return gm;
    }
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<DstT>&, const LocalTensor<DstT>&, uint8_t = 0, bool = false)
    {
        static_assert(!sync && sync,
                      "GetTensorC into GM and UB at once is not emulated: take the block once, and copy it");
    }
    /*! What is issued next sees what an asynchronous GetTensorC has copied to UB. */
    void WaitGetTensorC(FA_EMU_HERE) { fa_emu::Handshake<HardEvent::MTE2_S>(emuLoc); }
    void AsyncGetTensorC(const LocalTensor<DstT>& c, FA_EMU_HERE) { GetTensorC<false>(c, 0, false, emuLoc); }

    template <bool sync = true>
    void IterateAll(
        const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false, bool waitIterateAll = false,
        bool fakeMsg = false, FA_EMU_HERE)
    {
        CheckIterateAll();
        if (fakeMsg) {
            fa_emu::MatmulError("matmul-shape", emuLoc, "leave it false: no object shares L1 here",
                                "fakeMsg is not emulated");
            return;
        }
        if (!Ready("IterateAll", kQuantises, emuLoc) || !Free(emuLoc)) {
            return;
        }
        ended_ = ended_ && !(sync && MM_CFG.enableEnd);
        fa_emu::MatmulRequest request = Computing(0, Blocks(), emuLoc);
        request.atomic = enAtomic;
        Place(request, enSequentialWrite);
        request.c = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
        Ask(request, sync, waitIterateAll, emuLoc);
    }
    template <bool sync = true> void IterateAll(const LocalTensor<DstT>& ubCmatrix, uint8_t enAtomic = 0, FA_EMU_HERE)
    {
        CheckIterateAll();
        static_assert(sync, "IterateAll<false> into UB is not emulated: wait for it, or use GM");
        static_assert(C_TYPE::pos != TPosition::GM, "this object gives C to GM: pass a GlobalTensor");
        if (!PlainResult(enAtomic, emuLoc) || !Ready("IterateAll", kQuantises, emuLoc) || !Free(emuLoc)) {
            return;
        }
        ended_ = !MM_CFG.enableEnd;
        fa_emu::MatmulRequest request = Computing(0, Blocks(), emuLoc);
        ToUb(request, ubCmatrix, WholeCount(), -1, false, emuLoc);
    }
    void WaitIterateAll(FA_EMU_HERE)
    {
        if (answered_ > 0) {
            --answered_;
            return;
        }
        if (unwaited_ == 0) {
            fa_emu::MatmulError("matmul-order", emuLoc, "call IterateAll<false>(gm, atomic, sequential, true) before",
                                "WaitIterateAll has no IterateAll<false> with waitIterateAll to wait for");
            return;
        }
        Await(emuLoc);
    }

    void End(FA_EMU_HERE)
    {
        static_assert(MM_CFG.enableEnd, "the MatmulConfig promises that End is not called");
        ReportPending("End", emuLoc);
        ended_ = true;
        Restart();
    }

    FA_EMU_NO_MATMUL_CALL(IterateBatch, "batches of a Matmul object are not emulated: call it once a matrix")
    FA_EMU_NO_MATMUL_CALL(IterateNBatch, "batches of a Matmul object are not emulated: call it once a matrix")
    FA_EMU_NO_MATMUL_CALL(GetBatchTensorC, "batches of a Matmul object are not emulated: call it once a matrix")
    FA_EMU_NO_MATMUL_CALL(SetBatchNum, "batches of a Matmul object are not emulated: call it once a matrix")
    FA_EMU_NO_MATMUL_CALL(SetUserDefInfo, "SetUserDefInfo belongs to MatmulCallBackFunc, which is not emulated")
    FA_EMU_NO_MATMUL_CALL(SetSelfDefineData, "SetSelfDefineData belongs to MatmulCallBackFunc, which is not emulated")
    FA_EMU_NO_MATMUL_CALL(SetSparseIndex, "SetSparseIndex is not emulated: sparse products are not")
    FA_EMU_NO_MATMUL_CALL(SetAntiQuantScalar, "SetAntiQuantScalar does not exist on this chip: convert B before")
    FA_EMU_NO_MATMUL_CALL(SetAntiQuantVector, "SetAntiQuantVector does not exist on this chip: convert B before")

    /*! One request, on the cube core. */
    void EmuCompute(const fa_emu::MatmulRequest& request, int32_t sub)
    {
        Product(request, sub).Run();
    }

private:
    using Product = fa_emu::CubeProduct<A_TYPE, B_TYPE, C_TYPE, MM_CFG>;
    static constexpr uint64_t kInUb = ~0ull;
    static constexpr int32_t kMostAnswers = 8; // under way at once, of an asynchronous Iterate
    static constexpr bool kSumsAreInts = std::is_same<SrcAT, int8_t>::value;
    static constexpr bool kQuantises =
        std::is_same<DstT, int8_t>::value || (kSumsAreInts && !std::is_same<DstT, int32_t>::value);
    static constexpr bool kStaged =
        A_TYPE::pos == TPosition::VECOUT || B_TYPE::pos == TPosition::VECOUT || BIAS_TYPE::pos == TPosition::VECOUT;
    static constexpr bool kNz = C_TYPE::format == CubeFormat::NZ;
    static constexpr int32_t kWidth = sizeof(DstT) == 1 ? ONE_BLK_SIZE : fa_emu::MatmulWidths::kRows;

    static void CheckGetTensorC()
    {
        static_assert(MM_CFG.enableGetTensorC, "the MatmulConfig promises that GetTensorC is not called");
    }
    static void CheckIterateAll()
    {
        static_assert((MM_CFG.iterateMode & ITERATE_MODE_ALL) != 0,
                      "the MatmulConfig promises that IterateAll is not called");
    }
    static void CheckQuant()
    {
        static_assert(MM_CFG.enableQuantVector, "the MatmulConfig promises that no scale is set");
        static_assert(kQuantises, "this object does not quantise: its C has the type of its sums, or a float type");
    }

    void CheckTransposed(bool transposed, bool declared, const char* which, FaEmuLoc loc)
    {
        if (transposed && !declared) {
            fa_emu::MatmulError("matmul-order", loc, "declare the MatmulType with ISTRANS = true",
                                "%s is set transposed, its MatmulType says that it never is", which);
            refused_ = true;
        }
    }
    void SetA(const __gm__ SrcAT* address, bool transposed, FaEmuLoc loc)
    {
        CheckTransposed(transposed, A_TYPE::isTrans, "A", loc);
        setA_ = true;
        request_.a.address = reinterpret_cast<uint64_t>(address);
        request_.a.transposed = transposed;
        Restart();
    }
    void SetB(const __gm__ SrcBT* address, bool transposed, FaEmuLoc loc)
    {
        CheckTransposed(transposed, B_TYPE::isTrans, "B", loc);
        setB_ = true;
        request_.b.address = reinterpret_cast<uint64_t>(address);
        request_.b.transposed = transposed;
        Restart();
    }
    void SetBiasAddress(uint64_t address, FaEmuLoc loc)
    {
        static_assert(MM_CFG.enableSetBias, "the MatmulConfig promises that SetBias is not called");
        static_assert(std::is_same<BiasT, typename Product::Sum>::value,
                      "the bias has the type of the sums here, float or int32_t: convert another one before");
        if (tiled_ && request_.tiling.isBias == 0) {
            fa_emu::MatmulError("matmul-order", loc, "set isBias of the TCubeTiling to 1",
                                "SetBias of an object whose tiling has isBias = 0");
            return;
        }
        bias_ = address;
        biased_ = true;
    }

    bool Free(FaEmuLoc loc)
    {
        const fa_emu::MatmulSession* session = fa_emu::MatmulSession::Current();
        return session != nullptr && session->IsFreeFor(this, loc);
    }

    /*! What a call asks for, so far: the operands, and which blocks. */
    fa_emu::MatmulRequest Computing(int32_t first, int32_t blocks, FaEmuLoc loc)
    {
        asked_ = loc;
        behind_ = false;
        fa_emu::MatmulRequest request = request_;
        request.call = fa_emu::kMatmulBlocks;
        request.first = first;
        request.blocks = blocks;
        request.loc = loc;
        request.a.pitch = PitchOf<A_TYPE>(request.a.transposed, orgM_, orgKa_, request.m, request.k);
        request.b.pitch = PitchOf<B_TYPE>(request.b.transposed, orgKb_, orgN_, request.k, request.n);
        request.bias = biased_ ? bias_ : 0;
        if (first == 0) {
            StageOperands(request, loc);
        } else {
            request.a.address = deferred_.a.address;
            request.b.address = deferred_.b.address;
            request.bias = deferred_.bias;
            stage_ = operands_;
        }
        return request;
    }

    /*! Operands in UB go to the workspace before the first block. */
    void StageOperands(fa_emu::MatmulRequest& request, FaEmuLoc loc)
    {
        stage_ = room_;
        StageOperand<A_TYPE>(request.a, localA_, request.m, request.k, loc);
        StageOperand<B_TYPE>(request.b, localB_, request.k, request.n, loc);
        if constexpr (BIAS_TYPE::pos == TPosition::VECOUT) {
            if (request.bias == kInUb) {
                request.bias = ToStage(localBias_, fa_emu::UpTo<int32_t>(request.n, 8), loc);
            }
        }
        operands_ = stage_;
    }

    /*! Elements of a row as it is stored, or rows of a matrix of column groups. */
    template <class TYPE>
    static int32_t PitchOf(bool transposed, int32_t orgRows, int32_t orgColumns, int32_t rows, int32_t columns)
    {
        constexpr int32_t group = ONE_BLK_SIZE / sizeof(typename TYPE::T);
        const int32_t high = transposed ? columns : rows;
        const int32_t wide = transposed ? rows : columns;
        if constexpr (TYPE::pos == TPosition::VECOUT) {
            return TYPE::format == CubeFormat::NZ ? fa_emu::UpTo(high, fa_emu::MatmulWidths::kRows)
                                                  : fa_emu::UpTo(wide, group);
        } else {
            return (TYPE::format == CubeFormat::NZ) != transposed ? orgRows : orgColumns;
        }
    }

    /*! An operand in UB goes to the workspace as it is. */
    template <class TYPE>
    void StageOperand(
        fa_emu::MatmulMatrix& matrix, const LocalTensor<typename TYPE::T>& local, int32_t rows, int32_t columns,
        FaEmuLoc loc)
    {
        if constexpr (TYPE::pos == TPosition::VECOUT) {
            constexpr int32_t group = ONE_BLK_SIZE / sizeof(typename TYPE::T);
            const int32_t high = matrix.transposed ? columns : rows;
            const int32_t wide = matrix.transposed ? rows : columns;
            const int32_t lines = TYPE::format == CubeFormat::NZ ? fa_emu::UpTo(wide, group) : high;
            matrix.address = ToStage(local, matrix.pitch * lines, loc);
        }
    }
    template <typename T> uint64_t ToStage(const LocalTensor<T>& local, int32_t count, FaEmuLoc loc)
    {
        GlobalTensor<T> gm;
        const uint64_t at = stage_.Take(int64_t{count} * static_cast<int64_t>(sizeof(T)), loc);
        if (at != 0) {
            gm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(at));
            fa_emu::Handshake<HardEvent::V_S>(loc);
            DataCopy(gm, local, static_cast<uint32_t>(count), loc);
        }
        return at;
    }

    bool IterateNow(bool partial, FaEmuLoc loc)
    {
        if (partial && (kStaged || !hasPending_)) {
            fa_emu::MatmulError("matmul-order", loc, "begin with Iterate(false), and keep the operands in GM",
                                "partial sums of %s",
                                kStaged ? "operands in UB are not emulated" : "nothing: no block is in L0C");
            return false;
        }
        if (partial && Blocks() != 1) {
            fa_emu::MatmulError("matmul-shape", loc, "let singleCoreM be baseM and singleCoreN be baseN",
                                "partial sums of %d blocks of C, they stay in L0C for one", Blocks());
            return false;
        }
        if (!partial) {
            ReportPending("the Iterate", loc);
        }
        if (partial && !held_) {
            deferred_.call = fa_emu::kMatmulHold;
            Send(deferred_, loc);
            held_ = true;
        }
        ended_ = !MM_CFG.enableEnd;
        deferred_ = Computing(block_, 1, loc);
        if (partial) {
            deferred_.accumulate = true;
            deferred_.bias = 0;
            deferred_.call = fa_emu::kMatmulHold;
            Send(deferred_, loc);
        }
        hasPending_ = true;
        pending_ = loc;
        ++block_;
        return true;
    }

    bool IterateBehind(bool partial, FaEmuLoc loc)
    {
        if (partial || workspace_ == 0) {
            fa_emu::MatmulError("matmul-order", loc, "call SetWorkspace before, and leave enPartialSum false",
                                "Iterate<false> needs a workspace for its blocks, and adds up no partial sums");
            return false;
        }
        if (block_ == 0) {
            fa_emu::MatmulRequest request = Computing(0, Blocks(), loc);
            request.c = workspace_;
            request.dense = true;
            request.cStep = BlockElements();
            request.answerEvery = AnswerEvery();
            Send(request, loc);
            unwaited_ += DivCeil(Blocks(), AnswerEvery());
            behind_ = true;
            taken_ = 0;
        }
        ++block_;
        return true;
    }
    int32_t AnswerEvery() const { return DivCeil(Blocks(), kMostAnswers); }
    int32_t BlockElements() const { return request_.tiling.baseM * request_.tiling.baseN; }

    bool HasBlock(FaEmuLoc loc)
    {
        if (!hasPending_ && !refused_) {
            fa_emu::MatmulError("matmul-order", loc, "call Iterate before, once a block",
                                "GetTensorC finds no block that Iterate has computed");
        }
        return hasPending_;
    }
    bool PlainResult(uint8_t atomic, FaEmuLoc loc)
    {
        if (atomic != 0) {
            fa_emu::MatmulError("matmul-order", loc, "add in UB, or let C be in GM",
                                "enAtomic is %d, results in UB are stored as they are", atomic);
        }
        return atomic == 0;
    }

    /*! The request by which the pending block leaves L0C. */
    fa_emu::MatmulRequest Taking(uint8_t atomic, bool sequential, FaEmuLoc loc)
    {
        fa_emu::MatmulRequest request = deferred_;
        request.call = held_ ? fa_emu::kMatmulTakeHeld : fa_emu::kMatmulBlocks;
        request.atomic = atomic;
        request.loc = loc;
        Place(request, sequential);
        hasPending_ = false;
        held_ = false;
        return request;
    }
    void Place(fa_emu::MatmulRequest& request, bool sequential) const
    {
        const int32_t width = orgKc_ != 0 ? orgKc_ : orgN_;
        request.dense = sequential;
        request.cStep = sequential ? BlockElements() : 0;
        request.cPitch = kNz ? orgM_ : RowWidth(width);
    }
    static int32_t RowWidth(int32_t columns)
    {
        constexpr int32_t unit = ONE_BLK_SIZE / sizeof(DstT);
        return C_TYPE::format == CubeFormat::ND_ALIGN ? fa_emu::UpTo(columns, unit) : columns;
    }

    /*! Elements of a block whose rows follow each other. */
    int32_t DenseCount(int32_t index) const
    {
        const fa_emu::MatmulBlock block = fa_emu::MatmulBlock::Of(request_, index);
        return CountOf(block.rows.count, block.columns.count);
    }
    int32_t WholeCount() const { return CountOf(request_.m, request_.n); }
    static int32_t CountOf(int32_t rows, int32_t columns)
    {
        return kNz ? fa_emu::UpTo(rows, fa_emu::MatmulWidths::kRows) * fa_emu::UpTo(columns, kWidth)
                   : rows * RowWidth(columns);
    }

    /*! Asks for blocks, by way of the workspace to UB: the matrix of this core, or one block of it. */
    void ToUb(
        fa_emu::MatmulRequest& request, const LocalTensor<DstT>& ub, int32_t count, int32_t block, bool dense,
        FaEmuLoc loc)
    {
        request.c = stage_.Take(int64_t{count} * static_cast<int64_t>(sizeof(DstT)), loc);
        if (request.c == 0) {
            return;
        }
        request.cPitch = kNz ? fa_emu::UpTo(request.m, fa_emu::MatmulWidths::kRows) : RowWidth(request.n);
        request.cStep = 0;
        Ask(request, true, false, loc);
        GlobalTensor<DstT> gm;
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ DstT*>(request.c));
        if (dense || block < 0) {
            CopyOut(ub, gm, 0, count, true, loc);
        } else {
            CopyBlock(ub, gm, request, loc);
        }
    }

    /*! Elements from `at` on. */
    void CopyOut(
        const LocalTensor<DstT>& ub, const GlobalTensor<DstT>& gm, int32_t at, int32_t count, bool waits, FaEmuLoc loc)
    {
        const uint32_t bytes = static_cast<uint32_t>(count) * static_cast<uint32_t>(sizeof(DstT));
        DataCopyPad(ub[static_cast<uint32_t>(at)], gm[static_cast<uint64_t>(at)], DataCopyExtParams(1, bytes, 0, 0, 0),
                    DataCopyPadExtParams<DstT>(), loc);
        if (waits) {
            fa_emu::Handshake<HardEvent::MTE2_S>(loc);
        }
    }

    /*! The rows of one block to their place in the matrix of this core. */
    void CopyBlock(
        const LocalTensor<DstT>& ub, const GlobalTensor<DstT>& gm, const fa_emu::MatmulRequest& request, FaEmuLoc loc)
    {
        const fa_emu::MatmulBlock block = fa_emu::MatmulBlock::Of(request, request.first);
        const fa_emu::MatmulSpan rows = block.rows;
        const fa_emu::MatmulSpan columns = block.columns;
        if constexpr (kNz) {
            for (int32_t group = 0; group < columns.count; group += kWidth) {
                CopyOut(ub, gm, (columns.start + group) * request.cPitch + rows.start * kWidth,
                        fa_emu::UpTo(rows.count, fa_emu::MatmulWidths::kRows) * kWidth, false, loc);
            }
        } else {
            for (int32_t i = 0; i < rows.count; ++i) {
                CopyOut(ub, gm, (rows.start + i) * request.cPitch + columns.start, columns.count, false, loc);
            }
        }
        fa_emu::Handshake<HardEvent::MTE2_S>(loc);
    }

    /*! Sends a request; `waits` for its answer, or leaves it for `later`. */
    void Ask(fa_emu::MatmulRequest& request, bool waits, bool later, FaEmuLoc loc)
    {
        // Operands in the workspace stay there until they have been read.
        const bool now = waits || kStaged;
        request.answerEvery = now || later ? request.blocks : 0;
        Send(request, loc);
        unwaited_ += now || later ? 1 : 0;
        if (now) {
            Await(loc);
        }
        answered_ += now && !waits && later ? 1 : 0;
    }
    void Send(const fa_emu::MatmulRequest& request, FaEmuLoc loc)
    {
        if constexpr (!fa_emu::kMatmulCubeOnly) {
            fa_emu::PostMatmul(request, loc);
        } else if constexpr (fa_emu::kIsAic) {
            fa_emu::MatmulRequest own = request;
            own.answerEvery = 0;
            EmuCompute(own, 0);
        }
    }
    void Await(FaEmuLoc loc)
    {
        --unwaited_;
        if constexpr (!fa_emu::kMatmulCubeOnly) {
            fa_emu::AwaitMatmul(request_.object, loc);
        }
    }

    LocalTensor<SrcAT> localA_;
    LocalTensor<SrcBT> localB_;
    LocalTensor<BiasT> localBias_;
    fa_emu::MatmulRequest deferred_; // an Iterate whose block is not taken
    fa_emu::MatmulStage stage_;      // what is left of `room_` for this request
    fa_emu::MatmulStage operands_;   // and behind its operands
    int32_t sub_ = -1;
    uint64_t workspace_ = 0;         // of an asynchronous Iterate
    bool behind_ = false;            // an asynchronous Iterate is under way
};

template <
    class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
    class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>>
using MatmulImpl = Matmul<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB>;
} // namespace AscendC

namespace matmul = AscendC;

#undef REGIST_MATMUL_OBJ
#ifdef FA_EMU_SCAN
#ifdef ASCENDC_CUBE_ONLY
#define REGIST_MATMUL_OBJ(...) fa_emu_scan_cube_objects
#else
#define REGIST_MATMUL_OBJ(...) fa_emu_scan_objects
#endif
#elif defined(SPLIT_CORE_CUBE) != defined(ASCENDC_CUBE_ONLY)
/*! The other core does the work: the cube core serves, or a vector core has nothing to do. */
#ifdef SPLIT_CORE_CUBE
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) \
    return fa_emu::MatmulServer::Run(tpipe, workspace, FaEmuLoc::Here(), __VA_ARGS__)
#else
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) return
#endif
#else
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) \
    fa_emu::MatmulSession emuMatmulSession(tpipe, workspace, FaEmuLoc::Here(), __VA_ARGS__)
#endif

#endif
