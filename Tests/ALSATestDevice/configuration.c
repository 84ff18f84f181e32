#define _GNU_SOURCE
#include "ALSATestDevice.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void vidicon_alsa_test_device(void) {}

#ifdef __linux__

/// Makes ALSA read the asound.conf in this folder instead of the machine's configuration. Runs before main, since the
/// environment must not change once there are several threads.
__attribute__((constructor)) static void configure(void) {
  char source[4096] = __FILE__;
  char text[8192];
  snprintf(text, sizeof text, "%s/asound.conf", dirname(source));
  setenv("ALSA_CONFIG_PATH", text, 0);

  char program[4096] = {0};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return;
  snprintf(text, sizeof text, "%s/lib_ALSATestDevice.so", dirname(program));
  setenv("VIDICON_TEST_ALSA_PLUGIN", text, 0);
}

#endif
