// A clock that a time service keeps, for the program that loads this library before others.

#include <sys/timex.h>

int adjtimex(struct timex *state) {
  state->status = 0;
  return TIME_OK;
}
