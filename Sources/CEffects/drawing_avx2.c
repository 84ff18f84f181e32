#ifdef __x86_64__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#include "Drawing.h"

#include <immintrin.h>
#include <string.h>

// Two neighboring pixels for each of four samples.
static inline __m256i neighbors(const uint8_t *pixels, uint64_t first, uint64_t second) {
  int64_t pairs[4];
  memcpy(&pairs[0], pixels + 4 * (first & 0xFFFFFFFF), 8);
  memcpy(&pairs[1], pixels + 4 * (first >> 32), 8);
  memcpy(&pairs[2], pixels + 4 * (second & 0xFFFFFFFF), 8);
  memcpy(&pairs[3], pixels + 4 * (second >> 32), 8);
  return _mm256_set_epi64x(pairs[3], pairs[2], pairs[1], pairs[0]);
}

// Copies the low half of each of four numbers to all bytes of its pixel.
static inline __m256i for_each_byte(__m128i numbers) {
  const __m256i places = _mm256_set_epi8(9, 8, 9, 8, 9, 8, 9, 8, 1, 0, 1, 0, 1, 0, 1, 0, 9, 8, 9, 8, 9, 8, 9, 8, 1, 0, 1,
                                         0, 1, 0, 1, 0);
  return _mm256_shuffle_epi8(_mm256_cvtepu32_epi64(numbers), places);
}

// Four interpolated pixels, as 16-bit words.
static inline __m256i mix(const uint8_t *upper, const uint8_t *lower, __m128i places, __m128i across, __m128i down) {
  const uint64_t first = (uint64_t)_mm_cvtsi128_si64(places), second = (uint64_t)_mm_extract_epi64(places, 1);
  // Interleaves the bytes of the left and the right pixel.
  const __m256i beside = _mm256_set_epi8(15, 11, 14, 10, 13, 9, 12, 8, 7, 3, 6, 2, 5, 1, 4, 0, 15, 11, 14, 10, 13, 9, 12, 8,
                                         7, 3, 6, 2, 5, 1, 4, 0);
  const __m256i weights = for_each_byte(across);
  const __m256i above = _mm256_maddubs_epi16(_mm256_shuffle_epi8(neighbors(upper, first, second), beside), weights);
  const __m256i below = _mm256_maddubs_epi16(_mm256_shuffle_epi8(neighbors(lower, first, second), beside), weights);
  const __m256i change = _mm256_mulhrs_epi16(_mm256_sub_epi16(below, above), for_each_byte(down));
  return _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(above, change), _mm256_set1_epi16(32)), 6);
}

enum { sampled = 8 };

// Eight pixels whose positions (in 65536ths of a pixel, with the steps between them) all lie between four layer
// pixels.
static inline void sample(uint8_t *target, const vidicon_layer *layer, uint32_t u, uint32_t v, uint32_t step_u,
                          uint32_t step_v) {
  const __m256i index = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m256i us = _mm256_add_epi32(_mm256_set1_epi32((int)u), _mm256_mullo_epi32(index, _mm256_set1_epi32((int)step_u)));
  const __m256i vs = _mm256_add_epi32(_mm256_set1_epi32((int)v), _mm256_mullo_epi32(index, _mm256_set1_epi32((int)step_v)));
  const __m256i rows = _mm256_mullo_epi32(_mm256_srli_epi32(vs, 16), _mm256_set1_epi32((int)layer->width));
  const __m256i places = _mm256_add_epi32(rows, _mm256_srli_epi32(us, 16));
  // The weights of the left and the right pixel, 64 - x and x, as two bytes: 64 + 255 * x.
  const __m256i right = _mm256_and_si256(_mm256_srli_epi32(us, 10), _mm256_set1_epi32(63));
  const __m256i across =
      _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(right, 8), right), _mm256_set1_epi32(64));
  const __m256i down = _mm256_and_si256(_mm256_srli_epi32(vs, 1), _mm256_set1_epi32(32767));

  const uint8_t *upper = layer->pixels, *lower = upper + 4 * layer->width;
  // Prefetches the layer's data for the next rows, which other work has mostly evicted from the nearest caches.
  _mm_prefetch((const char *)(lower + 4 * (size_t)_mm_cvtsi128_si32(_mm256_castsi256_si128(places)) + 8 * layer->width),
               _MM_HINT_T0);
  const __m256i first = mix(upper, lower, _mm256_castsi256_si128(places), _mm256_castsi256_si128(across),
                            _mm256_castsi256_si128(down));
  const __m256i second = mix(upper, lower, _mm256_extracti128_si256(places, 1), _mm256_extracti128_si256(across, 1),
                             _mm256_extracti128_si256(down, 1));
  // The pack instruction interleaves both halves; restores the order.
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xD8);
  _mm256_storeu_si256((__m256i *)target, bytes);
}

#define DRAW vidicon_draw_layer_avx2
#include "drawing.inc"
#pragma clang attribute pop
#endif
