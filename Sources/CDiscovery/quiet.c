#ifdef __linux__

#include <stdlib.h>

// Of Swift's standard library, which finds the arguments of the process beside its environment when they are first asked for, and no longer
// once setenv has moved that: a program with the library linked statically would have no arguments.
__attribute__((weak)) void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count);

/// Silences the warning of Avahi's compatibility library on standard error and in the system log. Runs before main,
/// while the process has one thread, since setenv is not thread-safe.
__attribute__((constructor)) static void keep_avahi_quiet(int count, char **arguments) {
  if (_swift_stdlib_overrideUnsafeArgvArgc) _swift_stdlib_overrideUnsafeArgvArgc(arguments, count);
  setenv("AVAHI_COMPAT_NOWARN", "1", 0);
}

#endif
