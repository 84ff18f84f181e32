#define _GNU_SOURCE
#include "ThreadName.h"

#include <pthread.h>
#include <string.h>

void vidicon_set_thread_name(const char *name) {
#ifdef __APPLE__
  pthread_setname_np(name);
#else
  char shortened[16] = {0};
  strncpy(shortened, name, sizeof shortened - 1);
  pthread_setname_np(pthread_self(), shortened);
#endif
}
