// SSE2, or NEON.
#include "Drawing.h"

#include <string.h>

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t words4 __attribute__((vector_size(8)));
typedef int16_t words8 __attribute__((vector_size(16)));
typedef int32_t numbers4 __attribute__((vector_size(16)));

// Interpolates between a pixel and its right neighbor, in 64ths.
static inline words4 between(const uint8_t *pixels, int16_t across) {
  bytes8 bytes;
  memcpy(&bytes, pixels, 8);
  const words8 both = __builtin_convertvector(bytes, words8);
  return __builtin_shufflevector(both, both, 0, 1, 2, 3) * (int16_t)(64 - across) +
         __builtin_shufflevector(both, both, 4, 5, 6, 7) * across;
}

enum { sampled = 2 };

// Pixels whose positions (in 65536ths of a pixel, with the steps between them) all lie between four layer pixels.
static inline void sample(uint8_t *target, const vidicon_layer *layer, uint32_t u, uint32_t v, uint32_t step_u,
                          uint32_t step_v) {
  for (int index = 0; index < sampled; index++, u += step_u, v += step_v, target += 4) {
    const uint8_t *pixels = layer->pixels + 4 * ((size_t)(v >> 16) * (size_t)layer->width + (u >> 16));
    const int16_t across = (int16_t)(u >> 10 & 63);
    const words4 upper = between(pixels, across), lower = between(pixels + 4 * layer->width, across);
    const numbers4 change = __builtin_convertvector(lower - upper, numbers4) * (int32_t)(v >> 1 & 32767) + 16384;
    const words4 mixed = upper + __builtin_convertvector(change >> 15, words4);
    const words4 color = (mixed + 32) >> 6;
    for (int part = 0; part < 4; part++) target[part] = (uint8_t)color[part];
  }
}

#define DRAW vidicon_draw_layer_baseline
#include "drawing.inc"
