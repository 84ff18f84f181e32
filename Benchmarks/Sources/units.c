#include "units.h"

#include <stdio.h>
#include <stdlib.h>

#include "rtsp.h"

struct recording load_recording(const char *path) {
  struct recording recording = {0};
  struct unit_header header;
  FILE *file = fopen(path, "rb");
  if (!file) fail("%s: cannot be read", path);
  while (fread(&header, sizeof header, 1, file) == 1) {
    recording.units = realloc(recording.units, (recording.count + 1) * sizeof *recording.units);
    struct unit *unit = &recording.units[recording.count++];
    unit->header = header;
    unit->bytes = malloc(header.length);
    if (fread(unit->bytes, 1, header.length, file) != header.length) fail("%s: ends early", path);
  }
  fclose(file);
  if (recording.count < 2) fail("%s: holds too little", path);
  int64_t last = recording.units[recording.count - 1].header.time;
  recording.period = last + last / (recording.count - 1);
  return recording;
}
