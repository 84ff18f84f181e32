#ifndef VIDICON_KERNELS_H
#define VIDICON_KERNELS_H

#include "InferenceKernels.h"

#include <math.h>
#include <string.h>

// The baseline variant runs on any processor of this architecture, the others on some.
extern const vidicon_kernels vidicon_kernels_baseline;
#ifdef __x86_64__
extern const vidicon_kernels vidicon_kernels_avx2, vidicon_kernels_avx512;
#endif

#endif
