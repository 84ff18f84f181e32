#include "kernels.h"

#ifdef __x86_64__
// 16 registers of 8 floats.
#define VARIANT avx2
#define VARIANT_NAME "AVX2"
#define WIDEST 16
#define ROWS_OF_16 6
#define ROWS_OF_8 8
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#include "kernels.inc"
#pragma clang attribute pop
#endif
