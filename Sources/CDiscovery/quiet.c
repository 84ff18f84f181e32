#ifdef __linux__

#include <stdlib.h>

/// Silences the warning of Avahi's compatibility library on standard error and in the system log. Runs before main,
/// while the process has one thread, since setenv is not thread-safe.
__attribute__((constructor)) static void keep_avahi_quiet(void) {
  setenv("AVAHI_COMPAT_NOWARN", "1", 0);
}

#endif
