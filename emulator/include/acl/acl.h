/*!
 * \file acl.h
 * \brief Process calls of the emulated runtime.
 */
#ifndef FA_EMU_ACL_H
#define FA_EMU_ACL_H

#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif
aclError aclInit(const char* configPath);
aclError aclFinalize(void);
const char* aclGetRecentErrMsg(void);
#ifdef __cplusplus
}
#endif

#endif
