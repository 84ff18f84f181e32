#include "kernels.h"

#define VARIANT baseline
#ifdef __aarch64__
// 32 registers of 4 floats.
#define VARIANT_NAME "NEON"
#define WIDEST 16
#define ROWS_OF_16 4
#define ROWS_OF_8 8
#else
// 16 registers of 4 floats.
#define VARIANT_NAME "SSE2"
#define WIDEST 8
#define ROWS_OF_8 4
#endif
#include "kernels.inc"
