#include "PixelKernels.h"

#include <string.h>

typedef uint64_t lanes __attribute__((vector_size(32)));

void vidicon_noise_fill(uint8_t *bytes, size_t count, vidicon_noise_state *state) {
  lanes words;
  memcpy(&words, state->words, sizeof words);
  while (count > 0) {
    words ^= words << 13;
    words ^= words >> 7;
    words ^= words << 17;
    size_t size = count < sizeof words ? count : sizeof words;
    memcpy(bytes, &words, size);
    bytes += size;
    count -= size;
  }
  memcpy(state->words, &words, sizeof words);
}
