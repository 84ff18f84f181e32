#include "kernels.h"

#ifdef __x86_64__
static size_t find(const vidicon_kernels **found) {
  size_t count = 0;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma")) {
    found[count++] = &vidicon_kernels_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found[count++] = &vidicon_kernels_avx2;
  found[count++] = &vidicon_kernels_baseline;
  return count;
}
#else
static size_t find(const vidicon_kernels **found) {
  found[0] = &vidicon_kernels_baseline;
  return 1;
}
#endif

size_t vidicon_kernels_count(void) {
  const vidicon_kernels *found[3];
  return find(found);
}

const vidicon_kernels *vidicon_kernels_at(size_t index) {
  const vidicon_kernels *found[3];
  return index < find(found) ? found[index] : NULL;
}
