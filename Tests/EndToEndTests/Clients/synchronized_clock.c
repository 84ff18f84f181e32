// A clock that a time service keeps, for the program that loads this library before others; with VIDICON_CLOCK_UNSYNCHRONIZED
// set, one that no service keeps.

#include <stdlib.h>
#include <sys/timex.h>

int adjtimex(struct timex *state) {
  int is_synchronized = !getenv("VIDICON_CLOCK_UNSYNCHRONIZED");
  state->status = is_synchronized ? 0 : STA_UNSYNC;
  return is_synchronized ? TIME_OK : TIME_ERROR;
}
