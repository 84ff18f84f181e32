#ifndef VIDICON_KERNELS_H
#define VIDICON_KERNELS_H

#include "InferenceKernels.h"

#include <math.h>
#include <string.h>

// What any processor of this architecture runs; then what some do.
extern const vidicon_kernels vidicon_kernels_baseline;
#ifdef __x86_64__
extern const vidicon_kernels vidicon_kernels_avx2, vidicon_kernels_avx512;
#endif

#endif
