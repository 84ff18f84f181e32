#include "CVersion.h"

#ifndef VIDICON_COMMIT
#define VIDICON_COMMIT ""
#endif

const char *vidicon_commit(void) { return VIDICON_COMMIT; }
