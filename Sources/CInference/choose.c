#include "kernels.h"

#include <string.h>

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

void vidicon_halves_to_floats(float *floats, const void *halves, size_t count) {
  const unsigned char *bytes = halves;
  for (size_t i = 0; i < count; i++) {
    const uint32_t half = (uint32_t)bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
    const uint32_t sign = (half & 0x8000) << 16;
    // Shifted into place, the exponent lacks 127 - 15, which a product adds exactly, also to what has exponent 0.
    uint32_t bits = (half & 0x7FFF) << 13;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude *= 0x1p112F;
    memcpy(&bits, &magnitude, sizeof bits);
    // Infinity and what is not a number.
    if ((half & 0x7C00) == 0x7C00) bits = 0x7F800000 | (half & 0x03FF) << 13;
    bits |= sign;
    memcpy(&floats[i], &bits, sizeof bits);
  }
}
