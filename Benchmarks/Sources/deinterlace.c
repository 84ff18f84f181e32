// Deinterlaces frames of a file by the program's kernel: deinterlace WIDTH HEIGHT INPUT OUTPUT. Input and output are frames of I420, of
// which the field of the even lines is shown first. Prints the processor time of a frame in seconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "PixelKernels.h"

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  if (count != 5) return 2;
  int width = atoi(arguments[1]), height = atoi(arguments[2]);
  size_t length = (size_t)width * (size_t)height * 3 / 2;
  FILE *input = fopen(arguments[3], "rb"), *output = fopen(arguments[4], "wb");
  uint8_t *frame = malloc(length), *before = malloc(length), *progressive = malloc(length);
  if (!input || !output || !frame || !before || !progressive) return 1;
  double time = 0;
  int frames = 0;
  for (; fread(frame, length, 1, input) == 1; frames++) {
    double begin = seconds();
    size_t offset = 0;
    for (int plane = 0; plane < 3; plane++) {
      int columns = plane == 0 ? width : width / 2, rows = plane == 0 ? height : height / 2;
      vidicon_deinterlace(progressive + offset, columns, frame + offset, columns, frames > 0 ? before + offset : NULL, columns,
                          columns, rows, 1, 255, true);
      offset += (size_t)columns * (size_t)rows;
    }
    time += seconds() - begin;
    if (fwrite(progressive, length, 1, output) != 1) return 1;
    uint8_t *last = before;
    before = frame;
    frame = last;
  }
  if (frames == 0 || fclose(output) != 0) return 1;
  printf("%.9f\n", time / frames);
  return 0;
}
