/*!
 * \file tensor.h
 * \brief LocalTensor, GlobalTensor and the static allocator.
 */
#ifndef FA_EMU_TENSOR_H
#define FA_EMU_TENSOR_H

#include "issue.h"
#include "structs.h"

namespace AscendC {
struct ShapeInfo {
    ShapeInfo() {}
    ShapeInfo(uint8_t dim, const uint32_t* sizes, uint8_t originalDim, const uint32_t* original, DataFormat format)
        : shapeDim(dim), originalShapeDim(originalDim), dataFormat(format)
    {
        for (int i = 0; i < dim && i < K_MAX_SHAPE_DIM; ++i) {
            shape[i] = sizes[i];
        }
        for (int i = 0; i < originalDim && i < K_MAX_SHAPE_DIM; ++i) {
            originalShape[i] = original[i];
        }
    }
    ShapeInfo(uint8_t dim, const uint32_t* sizes, DataFormat format = DataFormat::ND)
        : ShapeInfo(dim, sizes, dim, sizes, format)
    {}
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

template <typename T> class LocalTensor;
} // namespace AscendC

namespace fa_emu {
/*! What `a + b` of two whole tensors is until it is assigned. */
template <typename T, FaEmuOp op> struct WholeTensor {
    const AscendC::LocalTensor<T>& left;
    const AscendC::LocalTensor<T>& right;
    FaEmuLoc loc;
};

/*! What `a < b` of two whole tensors is until it is assigned. */
template <typename T> struct WholeCompare {
    const AscendC::LocalTensor<T>& left;
    const AscendC::LocalTensor<T>& right;
    AscendC::CMPMODE mode;
    FaEmuLoc loc;
};
} // namespace fa_emu

namespace AscendC {
template <typename T> class LocalTensor {
public:
    using PrimType = T;
    static_assert(fa_emu::DtypeOf<T>::value != fa_emu::kNone, "unknown element type");

    /*! Right operand of a whole-tensor operator; notes where the operator stands. */
    struct Right {
        Right(const LocalTensor& other, FaEmuLoc place = FaEmuLoc::Here()) : tensor(other), loc(place) {}
        const LocalTensor& tensor;
        FaEmuLoc loc;
    };

    /*! Stands for the device reference that `operator()` returns. */
    class Element {
    public:
        Element(const LocalTensor& tensor, uint32_t index, FaEmuLoc loc) : tensor_(tensor), index_(index), loc_(loc) {}
        operator T() const { return tensor_.GetValue(index_, loc_); }
        void operator=(T value) const { tensor_.SetValue(index_, value, loc_); }

    private:
        const LocalTensor& tensor_;
        uint32_t index_;
        FaEmuLoc loc_;
    };

    LocalTensor() {}
    LocalTensor(const LocalTensor&) = default;
    LocalTensor& operator=(const LocalTensor&) = default;
    LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize)
        : addr_(addr), bytes_(static_cast<uint64_t>(tileSize) * sizeof(T)), position_(pos)
    {}

    LocalTensor operator[](const uint32_t offset) const
    {
        LocalTensor result = *this;
        const uint64_t shift = static_cast<uint64_t>(offset) * sizeof(T);
        result.addr_ += shift;
        result.bytes_ = shift < bytes_ ? bytes_ - shift : 0;
        return result;
    }

    template <typename U> LocalTensor<U> ReinterpretCast() const
    {
        LocalTensor<U> result;
        result.EmuAssign(position_, addr_, bytes_, queueBuffer_);
        return result;
    }

    T GetValue(const uint32_t index, FA_EMU_HERE) const
    {
        fa_emu::Record record(FA_OP_READ, "GetValue", emuLoc);
        return fa_emu::FromBits<T>(record.Operand(0, *this).Param(0, index).Issue());
    }

    template <typename S> void SetValue(const uint32_t index, const S value, FA_EMU_HERE) const
    {
        fa_emu::Record record(FA_OP_WRITE, "SetValue", emuLoc);
        record.Operand(0, *this).Param(0, index).Scalar(fa_emu::ScalarBits(static_cast<T>(value))).Issue();
    }

    Element operator()(const uint32_t offset, FA_EMU_HERE) const { return Element(*this, offset, emuLoc); }

    fa_emu::WholeTensor<T, FA_OP_ADD> operator+(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeTensor<T, FA_OP_SUB> operator-(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeTensor<T, FA_OP_MUL> operator*(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeTensor<T, FA_OP_DIV> operator/(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeTensor<T, FA_OP_OR> operator|(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeTensor<T, FA_OP_AND> operator&(Right r) const { return {*this, r.tensor, r.loc}; }
    fa_emu::WholeCompare<T> operator<(Right r) const { return {*this, r.tensor, CMPMODE::LT, r.loc}; }
    fa_emu::WholeCompare<T> operator>(Right r) const { return {*this, r.tensor, CMPMODE::GT, r.loc}; }
    fa_emu::WholeCompare<T> operator==(Right r) const { return {*this, r.tensor, CMPMODE::EQ, r.loc}; }
    fa_emu::WholeCompare<T> operator<=(Right r) const { return {*this, r.tensor, CMPMODE::LE, r.loc}; }
    fa_emu::WholeCompare<T> operator>=(Right r) const { return {*this, r.tensor, CMPMODE::GE, r.loc}; }
    fa_emu::WholeCompare<T> operator!=(Right r) const { return {*this, r.tensor, CMPMODE::NE, r.loc}; }
    template <FaEmuOp op> void operator=(const fa_emu::WholeTensor<T, op>& value)
    {
        const int32_t count = static_cast<int32_t>(GetSize());
        if constexpr (op == FA_OP_ADD) {
            Add(*this, value.left, value.right, count, value.loc);
        } else if constexpr (op == FA_OP_SUB) {
            Sub(*this, value.left, value.right, count, value.loc);
        } else if constexpr (op == FA_OP_MUL) {
            Mul(*this, value.left, value.right, count, value.loc);
        } else if constexpr (op == FA_OP_DIV) {
            Div(*this, value.left, value.right, count, value.loc);
        } else if constexpr (op == FA_OP_OR) {
            Or(*this, value.left, value.right, count, value.loc);
        } else {
            And(*this, value.left, value.right, count, value.loc);
        }
    }
    template <typename S> void operator=(const fa_emu::WholeCompare<S>& value)
    {
        Compare(*this, value.left, value.right, value.mode, value.left.GetSize(), value.loc);
    }

    uint64_t GetPhyAddr() const { return addr_; }
    uint64_t GetPhyAddr(const uint32_t offset) const { return addr_ + static_cast<uint64_t>(offset) * sizeof(T); }
    int32_t GetPosition() const { return static_cast<int32_t>(position_); }
    void SetSize(const uint32_t size) { bytes_ = static_cast<uint64_t>(size) * sizeof(T); }
    uint32_t GetSize() const { return static_cast<uint32_t>(bytes_ / sizeof(T)); }
    void SetBufferLen(uint32_t dataLen) { bytes_ = dataLen; }
    void SetUserTag(const TTagType tag) { tag_ = tag; }
    TTagType GetUserTag() const { return tag_; }
#ifndef SPLIT_CORE_CUBE
    void SetShapeInfo(const ShapeInfo& shapeInfo) { shapeInfo_ = shapeInfo; }
    ShapeInfo GetShapeInfo() const { return shapeInfo_; }
#endif

    FaEmuOperand EmuOperand() const
    {
        return FaEmuOperand{addr_, bytes_, static_cast<uint8_t>(position_), fa_emu::DtypeOf<T>::value, 1, 0};
    }
    void EmuAssign(TPosition pos, uint64_t addr, uint64_t bytes, int32_t queueBuffer)
    {
        position_ = pos;
        addr_ = addr;
        bytes_ = bytes;
        queueBuffer_ = queueBuffer;
    }
    int32_t EmuQueueBuffer() const { return queueBuffer_; }

private:
    uint64_t addr_ = 0;
    uint64_t bytes_ = 0;
    TPosition position_ = TPosition::VECCALC;
    int32_t queueBuffer_ = -1;
    TTagType tag_ = 0;
#ifndef SPLIT_CORE_CUBE
    ShapeInfo shapeInfo_;
#endif
};

template <typename T> class GlobalTensor {
public:
    using PrimType = T;

    class Element {
    public:
        Element(const GlobalTensor& tensor, uint64_t index, FaEmuLoc loc) : tensor_(tensor), index_(index), loc_(loc) {}
        operator T() const { return tensor_.GetValue(index_, loc_); }
        void operator=(T value) const { tensor_.EmuWrite(index_, value, loc_); }

    private:
        const GlobalTensor& tensor_;
        uint64_t index_;
        FaEmuLoc loc_;
    };

    GlobalTensor() {}
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t bufferSize)
    {
        address_ = buffer;
        size_ = bufferSize;
    }
    void SetGlobalBuffer(__gm__ T* buffer)
    {
        address_ = buffer;
        size_ = 0;
    }
    const __gm__ T* GetPhyAddr() const { return address_; }
    __gm__ T* GetPhyAddr(const uint64_t offset) const { return EmuAt(offset); }
    T GetValue(const uint64_t offset, FA_EMU_HERE) const
    {
        fa_emu::Record record(FA_OP_READ, "GetValue", emuLoc);
        return fa_emu::FromBits<T>(record.Operand(0, *this).Param(0, static_cast<int64_t>(offset)).Issue());
    }
    Element operator()(const uint64_t offset, FA_EMU_HERE) const { return Element(*this, offset, emuLoc); }
    void SetValue(const uint64_t offset, T value, FA_EMU_HERE) { EmuWrite(offset, value, emuLoc); }
    uint64_t GetSize() const { return size_; }
    GlobalTensor operator[](const uint64_t offset) const
    {
        GlobalTensor result = *this;
        result.address_ = EmuAt(offset);
        return result;
    }
    void SetShapeInfo(const ShapeInfo& shapeInfo) { shapeInfo_ = shapeInfo; }
    ShapeInfo GetShapeInfo() const { return shapeInfo_; }
    template <CacheRwMode rwMode = CacheRwMode::RW> void SetL2CacheHint(CacheMode) {}

    void EmuWrite(const uint64_t offset, T value, FaEmuLoc loc) const
    {
        fa_emu::Record record(FA_OP_WRITE, "SetValue", loc);
        record.Operand(0, *this).Param(0, static_cast<int64_t>(offset)).Scalar(fa_emu::ScalarBits(value)).Issue();
    }
    FaEmuOperand EmuOperand() const
    {
        return FaEmuOperand{reinterpret_cast<uint64_t>(address_), size_ * sizeof(T),
                            static_cast<uint8_t>(TPosition::GM), fa_emu::DtypeOf<T>::value, 1, 0};
    }

private:
    // Through an integer: a kernel may form addresses that only the check at the access refuses.
    __gm__ T* EmuAt(uint64_t offset) const
    {
        return reinterpret_cast<__gm__ T*>(reinterpret_cast<uint64_t>(address_) + offset * sizeof(T));
    }

    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;
    ShapeInfo shapeInfo_;
};

template <Hardware hard = Hardware::UB> class LocalMemAllocator {
public:
    LocalMemAllocator() {}
    uint32_t GetCurAddr() const { return head_; }
    template <TPosition pos, class DataType, uint32_t tileSize> LocalTensor<DataType> Alloc()
    {
        return Take<DataType>(pos, tileSize);
    }
    template <TPosition pos, class DataType> LocalTensor<DataType> Alloc(uint32_t tileSize)
    {
        return Take<DataType>(pos, tileSize);
    }
    template <class DataType, uint32_t tileSize> LocalTensor<DataType> Alloc()
    {
        return Take<DataType>(Position(), tileSize);
    }
    template <class DataType> LocalTensor<DataType> Alloc(uint32_t tileSize)
    {
        return Take<DataType>(Position(), tileSize);
    }

private:
    static constexpr TPosition Position()
    {
        return hard == Hardware::UB ? TPosition::VECCALC : hard == Hardware::L1 ? TPosition::A1
             : hard == Hardware::L0A ? TPosition::A2 : hard == Hardware::L0B ? TPosition::B2
             : hard == Hardware::L0C ? TPosition::CO1 : hard == Hardware::BIAS ? TPosition::C2
                                                                               : TPosition::C2PIPE2GM;
    }
    template <class DataType> LocalTensor<DataType> Take(TPosition pos, uint32_t tileSize)
    {
        LocalTensor<DataType> result(pos, head_, tileSize);
        const uint64_t bytes = static_cast<uint64_t>(tileSize) * sizeof(DataType);
        head_ += static_cast<uint32_t>((bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE);
        return result;
    }
    uint32_t head_ = 0;
};
} // namespace AscendC

#endif
