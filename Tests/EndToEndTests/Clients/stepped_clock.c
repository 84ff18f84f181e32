// A wall clock that is set while a program runs, for the program that loads this library before others: while the file
// named by VIDICON_CLOCK_STEP exists, CLOCK_REALTIME is ahead by the number of seconds in it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  const char *path = clock == CLOCK_REALTIME ? getenv("VIDICON_CLOCK_STEP") : NULL;
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return result;
  char text[32] = "";
  if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
  close(file);
  return result;
}
