/*!
 * \file absent.h
 * \brief Calls that other chips have, or that belong to parts of the toolkit that are not emulated: refused by name.
 */
#ifndef FA_EMU_ABSENT_H
#define FA_EMU_ABSENT_H

#include "copy.h"
#include "cube.h"

#define FA_EMU_ABSENT(T, text) static_assert(sizeof(T) == 0, text)

#define FA_EMU_NO_TILING(name) \
    static_assert(false, name " belongs to custom-operator projects, which the emulated toolkit does not build: pass the structure by value")
#define REGISTER_TILING_DEFAULT(type) FA_EMU_NO_TILING("REGISTER_TILING_DEFAULT")
#define GET_TILING_DATA(name, address) FA_EMU_NO_TILING("GET_TILING_DATA")
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) FA_EMU_NO_TILING("GET_TILING_DATA_WITH_STRUCT")
#define TILING_KEY_IS(key)                                                                                          \
    [] {                                                                                                            \
        FA_EMU_NO_TILING("TILING_KEY_IS");                                                                          \
        return false;                                                                                               \
    }()
#define REGIST_MATMUL_OBJ(...) \
    static_assert(false, "REGIST_MATMUL_OBJ: include lib/matmul_intf.h")

namespace AscendC {
/*! Types that carry a position and a layout: `DtypeOf` refuses them. */
template <typename T, TPosition pos = TPosition::GM, typename... Layout> struct TensorTrait {};

struct LoadData2DParamsV2 {
    uint32_t mStartPosition = 0;
    uint32_t kStartPosition = 0;
    uint16_t mStep = 0;
    uint16_t kStep = 0;
    int32_t srcStride = 0;
    uint16_t dstStride = 0;
    bool ifTranspose = false;
    uint8_t sid = 0;
};

template <typename T, typename S>
inline void LoadData(const LocalTensor<T>&, const S&, const LoadData2DParamsV2&)
{
    FA_EMU_ABSENT(T, "LoadData with LoadData2DParamsV2 does not exist on this chip: use LoadData2DParams");
}

/*! Out of L0C into UB, on coupled chips. */
struct DataCopyEnhancedParams {
    uint8_t blockMode = 0;
    uint8_t deqScale = 0;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
};

template <typename D, typename S, typename Params>
inline void DataCopy(const D&, const S&, const Params&, const DataCopyEnhancedParams&)
{
    FA_EMU_ABSENT(D, "DataCopy with DataCopyEnhancedParams does not exist on this chip: Fixpipe leaves L0C, for global memory or L1");
}

template <typename T, uint8_t dim> struct MultiCopyParams {
    FA_EMU_ABSENT(T, "MultiCopyParams does not exist on this chip: one DataCopy a dimension");
};

struct Dn2NzParams {};

template <typename T>
inline void DataCopy(const LocalTensor<T>&, const GlobalTensor<T>&, const Dn2NzParams&)
{
    FA_EMU_ABSENT(T, "DataCopy with Dn2NzParams does not exist on this chip: copy with Nd2NzParams, and transpose in LoadData");
}

#define FA_EMU_NO_UB_TO_L1(T, name)                                                                                  \
    FA_EMU_ABSENT(T, name " from UB to L1 is not emulated: the chip has no such path, and the vendor's library has the " \
                          "server of a Matmul object copy by way of global memory")

template <typename T> inline void DataCopy(const LocalTensor<T>&, const LocalTensor<T>&, const Nd2NzParams&)
{
    FA_EMU_NO_UB_TO_L1(T, "DataCopy");
}

template <typename T, typename Params>
inline void DataCopyPad(const LocalTensor<T>&, const LocalTensor<T>&, const Params&, const Nd2NzParams&)
{
    FA_EMU_NO_UB_TO_L1(T, "DataCopyPad");
}

template <CO2Layout format> struct FixpipeParamsArch3510 {
    static_assert(format > CO2Layout::COLUMN_MAJOR, "FixpipeParamsArch3510 does not exist on this chip: use FixpipeParamsV220");
};

/*! Atomics of the scalar unit. */
#define FA_EMU_NO_SCALAR_ATOMIC(name)                                                                                \
    template <typename T, typename... Rest> inline T name(__gm__ T*, Rest&&...)                                     \
    {                                                                                                                \
        FA_EMU_ABSENT(T, #name " does not exist on this chip: add with SetAtomicAdd and a copy");                    \
        return T();                                                                                                  \
    }
FA_EMU_NO_SCALAR_ATOMIC(AtomicAdd)
FA_EMU_NO_SCALAR_ATOMIC(AtomicMax)
FA_EMU_NO_SCALAR_ATOMIC(AtomicMin)
FA_EMU_NO_SCALAR_ATOMIC(AtomicCas)
FA_EMU_NO_SCALAR_ATOMIC(AtomicExch)

template <typename T, typename... Rest> inline void Neg(const LocalTensor<T>&, Rest&&...)
{
    FA_EMU_ABSENT(T, "Neg does not exist on this chip: multiply by -1");
}

template <TPosition src, TPosition dst, typename T = void> struct TQueSync {
    static_assert(src == dst && src == TPosition::MAX, "TQueSync does not exist on this chip: use SetFlag and WaitFlag");
};

/*! Random bits exist on other chips; here the vendor's body is empty, and the destination stays as it was. */
struct PhiloxRandomParams {
    uint32_t stride = 0;
    uint32_t row = 0;
    uint32_t column = 0;
};

using PhiloxKey = uint32_t[2];
using PhiloxCounter = uint32_t[4];

template <uint16_t Rounds = 7, typename T, typename... Rest>
inline void PhiloxRandom(const LocalTensor<T>&, Rest&&...)
{
    FA_EMU_ABSENT(T, "PhiloxRandom does nothing on this chip: pass a mask that the host made");
}
} // namespace AscendC

namespace fa_emu {
template <typename T, AscendC::TPosition pos, typename... Layout> struct DtypeOf<AscendC::TensorTrait<T, pos, Layout...>> {
    FA_EMU_ABSENT(T, "TensorTrait is not emulated: write LocalTensor<T>(position, address, elements)");
    static constexpr Dtype value = kU8;
};
} // namespace fa_emu

#endif
