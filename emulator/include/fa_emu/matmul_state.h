/*!
 * \file matmul_state.h
 * \brief Matmul objects of a kernel: what each has been asked, and the cube core that serves them.
 */
#ifndef FA_EMU_MATMUL_STATE_H
#define FA_EMU_MATMUL_STATE_H

#include "matmul_cube.h"

namespace fa_emu {
/*! Pieces of the system workspace in which a vector core passes on what lies in UB. */
struct MatmulStage {
    uint64_t next = 0;
    uint64_t end = 0;

    /*! Room for so many bytes; 0 when there is none. */
    uint64_t Take(int64_t bytes, FaEmuLoc loc)
    {
        const uint64_t at = next;
        const uint64_t need = UpTo<uint64_t>(static_cast<uint64_t>(bytes), 512);
        if (end - next < need) {
            MatmulError("matmul-shape", loc, "compute smaller blocks, or keep operands and results in global memory",
                        "operands and results in UB need %llu bytes of the system workspace, the object has %llu left",
                        static_cast<unsigned long long>(need), static_cast<unsigned long long>(end - next));
            return 0;
        }
        next += need;
        return at;
    }
};

/*! What a kernel has asked of an object, and whether it may go on; independent of types. */
class MatmulState {
public:
    /*! Takes part in the kernel's objects as number `object`. */
    void EmuJoin(int32_t object, int32_t objects, GM_ADDR workspace)
    {
        request_.object = object;
        joined_ = true;
        if (workspace != nullptr) {
            const uint64_t cores = static_cast<uint64_t>(Ask(kVectorCores));
            const uint64_t share = AscendC::RESERVED_WORKSPACE / cores / 512 * 512;
            const uint64_t core = static_cast<uint64_t>(Ask(kBlockIdx)) % cores;
            const uint64_t part = share / static_cast<uint64_t>(objects) / 512 * 512;
            // From the end: kernels of the field put data of their own at the start.
            const uint64_t end = reinterpret_cast<uint64_t>(workspace) + AscendC::RESERVED_WORKSPACE;
            const uint64_t base = end - (core + 1) * share;
            room_.next = base + static_cast<uint64_t>(object) * part;
            room_.end = room_.next + part;
        }
    }
    /*! Reports what a kernel has left open; the kernel ends. */
    void EmuLeave()
    {
        joined_ = false;
        ReportPending("the end of the kernel", pending_);
        if (unwaited_ != 0) {
            MatmulError("matmul-unfinished", asked_, "call WaitIterateAll, or pass waitIterateAll = false",
                        "the kernel ends with %d result(s) of this call that nothing has waited for", unwaited_);
        } else if (!ended_) {
            MatmulWarning("matmul-unfinished", asked_, "call End of the object behind its last result",
                          "the object that computes here has not called End when the kernel ends");
        }
    }
    /*! A block that Iterate has computed is lost. */
    void ReportPending(const char* by, FaEmuLoc loc)
    {
        if (hasPending_) {
            MatmulError("matmul-order", pending_, "call GetTensorC behind each Iterate",
                        "the block of this Iterate is dropped by %s at line %d", by, loc.line);
        }
        hasPending_ = false;
        held_ = false;
    }
    /*! Whether results of a call in this core's own time are still its concern. */
    bool EmuIsOpen() const { return !ended_; }
    FaEmuLoc EmuPlace() const { return asked_; }

protected:
    void SetTiling(const TCubeTiling* tiling, const MatmulWidths& widths, FaEmuLoc loc)
    {
        if (tiling == nullptr) {
            return;
        }
        tiled_ = MatmulTilingIsFine(*tiling, widths, loc);
        refused_ = !tiled_;
        request_.tiling = *tiling;
        orgM_ = tiling->M;
        orgN_ = tiling->N;
        orgKa_ = tiling->Ka;
        orgKb_ = tiling->Kb;
        orgKc_ = 0;
        request_.m = tiling->singleCoreM;
        request_.n = tiling->singleCoreN;
        request_.k = tiling->singleCoreK;
        biased_ = tiling->isBias != 0;
        Restart();
    }
    /*! Iterate begins with the first block. */
    void Restart() { block_ = 0; }
    int32_t Blocks() const
    {
        const TCubeTiling& t = request_.tiling;
        return AscendC::DivCeil(request_.m, t.baseM) * AscendC::DivCeil(request_.n, t.baseN);
    }

    /*! Whether the object can compute; reports what it lacks. */
    bool Ready(const char* call, bool needsScale, FaEmuLoc loc)
    {
        if (refused_) {
            return false;
        }
        const struct {
            bool fine;
            const char* what;
            const char* help;
        } needs[] = {
            {joined_, "an object that REGIST_MATMUL_OBJ does not name",
             "register the object, with the kernel's TPipe and workspace"},
            {tiled_, "an object without a tiling", "pass a TCubeTiling to REGIST_MATMUL_OBJ or Init"},
            {setA_, "an object whose A is not set", "call SetTensorA before"},
            {setB_, "an object whose B is not set", "call SetTensorB before"},
            {!biased_ || bias_ != 0, "an object whose tiling has isBias = 1, and whose bias is not set",
             "call SetBias before, or DisableBias"},
            {!needsScale || scaled_, "an object that quantises, and has no scale",
             "call SetQuantScalar or SetQuantVector before"},
        };
        for (const auto& need : needs) {
            if (!need.fine) {
                MatmulError("matmul-order", loc, need.help, "%s of %s", call, need.what);
                return false;
            }
        }
        if (request_.m <= 0 || request_.n <= 0 || request_.k <= 0) {
            MatmulError("matmul-shape", loc, "set positive sizes with SetSingleShape or SetTail",
                        "%s of a shape of %d x %d x %d elements", call, request_.m, request_.n, request_.k);
            return false;
        }
        return true;
    }

    MatmulRequest request_;
    MatmulStage room_;
    FaEmuLoc asked_ = {"", 0};   // the last call that computes
    FaEmuLoc pending_ = {"", 0}; // an Iterate whose block nothing has taken
    uint64_t bias_ = 0;
    int32_t orgM_ = 0;
    int32_t orgN_ = 0;
    int32_t orgKa_ = 0;
    int32_t orgKb_ = 0;
    int32_t orgKc_ = 0;
    int32_t block_ = 0;    // that Iterate computes next
    int32_t taken_ = 0;    // blocks of an asynchronous Iterate
    int32_t unwaited_ = 0; // answers under way
    int32_t answered_ = 0; // and those that have come, for calls that wait later
    bool joined_ = false;
    bool tiled_ = false;
    bool refused_ = false; // something has been reported, for which nothing can be computed
    bool setA_ = false;
    bool setB_ = false;
    bool biased_ = false;
    bool scaled_ = false;
    bool ended_ = true;
    bool hasPending_ = false;
    bool held_ = false; // the pending block is in L0C already
};

/*! The objects that a kernel has registered, for the core that calls them. */
class MatmulSession {
public:
    template <typename... Rest>
    MatmulSession(AscendC::TPipe* pipe, GM_ADDR workspace, FaEmuLoc loc, Rest&&... rest) : loc_(loc)
    {
        if (pipe == nullptr) {
            PipeError("tpipe-missing", "REGIST_MATMUL_OBJ gets no TPipe", "pass the address of the kernel's TPipe",
                      loc);
            return;
        }
        constexpr int32_t count = Count<Rest...>();
        static_assert(count <= kMatmulObjects, "a kernel has at most 4 Matmul objects");
        if constexpr (kIsAiv) {
            OpenMatmul(workspace, count, loc);
        }
        Join(workspace, count, rest...);
        Current() = this;
    }
    MatmulSession(const MatmulSession&) = delete;
    MatmulSession& operator=(const MatmulSession&) = delete;
    ~MatmulSession() noexcept(false)
    {
        Current() = nullptr;
        for (int32_t i = 0; i < objects_; ++i) {
            object_[i]->EmuLeave();
        }
        if constexpr (kIsAiv) {
            PostMatmul(MatmulRequest(), loc_);
        }
    }

    static MatmulSession*& Current()
    {
        static thread_local MatmulSession* session = nullptr;
        return session;
    }
    /*! Reports another object that holds the cube core while `self` computes. */
    bool IsFreeFor(const MatmulState* self, FaEmuLoc loc) const
    {
        for (int32_t i = 0; i < objects_; ++i) {
            if (object_[i] != self && object_[i]->EmuIsOpen()) {
                const FaEmuLoc place = object_[i]->EmuPlace();
                MatmulError("matmul-unfinished", loc, "call End of that object before another one computes",
                            "an object computes while the one of %s:%d has not called End", place.file, place.line);
                return false;
            }
        }
        return true;
    }

    /*! Registered objects among the arguments; the others are their tilings. */
    template <typename... Rest> static constexpr int32_t Count()
    {
        return (0 + ... + (std::is_base_of<MatmulState, std::remove_reference_t<Rest>>::value ? 1 : 0));
    }

private:
    void Join(GM_ADDR, int32_t) {}
    template <class Object, typename... Rest> void Join(GM_ADDR workspace, int32_t count, Object& object, Rest&... rest)
    {
        if constexpr (std::is_base_of<MatmulState, Object>::value) {
            object.EmuJoin(objects_, count, kIsAiv ? workspace : nullptr);
            object_[objects_] = &object;
            ++objects_;
            if constexpr (sizeof...(Rest) != 0) {
                Tile(object, rest...);
            }
        }
        Join(workspace, count, rest...);
    }
    template <class Object, class Tiling, typename... Rest> void Tile(Object& object, Tiling& tiling, Rest&...)
    {
        static_assert(std::is_convertible<Tiling, const TCubeTiling*>::value,
                      "REGIST_MATMUL_OBJ takes an object and the address of its TCubeTiling, one after the other");
        object.Init(tiling, nullptr, loc_);
    }

    FaEmuLoc loc_;
    MatmulState* object_[kMatmulObjects] = {};
    int32_t objects_ = 0;
};

/*! The cube core's loop: a message after the other, until every vector core has ended. */
class MatmulServer {
public:
    template <typename... Rest> static void Run(AscendC::TPipe* pipe, GM_ADDR workspace, FaEmuLoc loc, Rest&&... rest)
    {
        if (pipe == nullptr) {
            return; // the vector cores report it
        }
        int64_t running = OpenMatmul(workspace, MatmulSession::Count<Rest...>(), loc);
        int32_t holder = -1; // the vector core whose partial sums are in L0C
        while (running > 0) {
            MatmulRequest request;
            const int32_t sub = TakeMatmul(request, holder, loc);
            if (request.call == kMatmulQuit) {
                --running;
                holder = holder == sub ? -1 : holder;
                continue;
            }
            Serve(request, sub, 0, rest...);
            holder = request.call == kMatmulHold ? sub : request.call == kMatmulTakeHeld ? -1 : holder;
        }
    }

private:
    static void Serve(const MatmulRequest&, int32_t, int32_t) {}
    template <class Object, typename... Rest>
    static void Serve(const MatmulRequest& request, int32_t sub, int32_t index, Object& object, Rest&... rest)
    {
        if constexpr (std::is_base_of<MatmulState, Object>::value) {
            if (request.object == index) {
                object.EmuCompute(request, sub);
                return;
            }
            ++index;
        }
        Serve(request, sub, index, rest...);
    }
};
} // namespace fa_emu

#endif
