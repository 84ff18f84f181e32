#include "kernels.h"

#ifdef __x86_64__
// 32 registers of 16 floats.
#define VARIANT avx512
#define VARIANT_NAME "AVX-512"
#define WIDEST 32
#define ROWS_OF_32 6
#define ROWS_OF_16 8
#define ROWS_OF_8 8
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#include "kernels.inc"
#pragma clang attribute pop
#endif
