#include "WallClock.h"

#ifdef __linux__
#include <sys/timex.h>

int vidicon_clock_is_synchronized(void) {
  // Without modes the call only reads, which every user may.
  struct timex state = {.modes = 0};
  int result = adjtimex(&state);
  return result >= 0 && result != TIME_ERROR && !(state.status & STA_UNSYNC);
}
#else
int vidicon_clock_is_synchronized(void) { return 1; }
#endif
