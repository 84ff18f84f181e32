// A clock that a time service keeps, for the program that loads this library before others; with VIDICON_CLOCK_UNSYNCHRONIZED
// set, one that no service keeps; with VIDICON_CLOCK_SERVICE, one that is kept while the file of that name exists.

#include <stdlib.h>
#include <sys/timex.h>
#include <unistd.h>

int adjtimex(struct timex *state) {
  const char *service = getenv("VIDICON_CLOCK_SERVICE");
  int is_synchronized = service ? access(service, F_OK) == 0 : !getenv("VIDICON_CLOCK_UNSYNCHRONIZED");
  state->status = is_synchronized ? 0 : STA_UNSYNC;
  return is_synchronized ? TIME_OK : TIME_ERROR;
}
