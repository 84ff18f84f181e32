#include "TerminalKeys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

// Everything here is also called by signal handlers, which may only call async-signal-safe functions (POSIX):
// tcgetattr, tcsetattr, tcgetpgrp, getpgrp, write, raise, sigaction are safe.

static struct termios original;
static volatile sig_atomic_t begun, raw;
// Local modes that are off meanwhile: ICANON and ECHO for keys, ECHO alone for a secret.
static tcflag_t cleared;
// Pipe on which handlers wake the reader: 'c' after a stop, 'e' at the end.
static int wake[2] = {-1, -1};

// Signals that end the program and can be handled. The program itself handles SIGINT and SIGTERM, except while it asks for a secret.
static const int endings[] = {SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS};
enum { ending_count = sizeof endings / sizeof *endings };
static struct sigaction earlier[ending_count];

static bool in_foreground(void) {
  return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void restore(void) {
  if (!raw) return;
  raw = 0;
  int error = errno;
  // In the background the terminal belongs to another process group.
  if (in_foreground()) tcsetattr(STDIN_FILENO, TCSANOW, &original);
  errno = error;
}

static void enter_raw(void) {
  if (!begun || raw || !in_foreground()) return;
  struct termios keys;
  if (tcgetattr(STDIN_FILENO, &keys) != 0) return;
  original = keys;
  keys.c_lflag &= ~cleared;
  if (cleared & ICANON) {
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
  }
  // Set first: a signal in between then restores the mode once too often instead of not at all.
  raw = 1;
  // Text that was typed before the question was shown, and is not part of a secret.
  if (tcsetattr(STDIN_FILENO, cleared & ICANON ? TCSANOW : TCSAFLUSH, &keys) != 0) raw = 0;
}

static void send_wake(char what) {
  int error = errno;
  while (wake[1] >= 0 && write(wake[1], &what, 1) < 0 && errno == EINTR) {
  }
  errno = error;
}

// Restores the terminal, then ends the program by the same signal.
static void ended(int number) {
  restore();
  for (int i = 0; i < ending_count; i++) {
    if (endings[i] == number) sigaction(number, &earlier[i], NULL);
  }
  raise(number);
}

// Signal handler of Ctrl-Z: restores the terminal, then stops the process.
static void stopped(int number) {
  (void)number;
  restore();
  raise(SIGSTOP);
}

// Signal handler of Ctrl-C and of SIGTERM while a secret is asked for.
static void interrupted(int number) {
  restore();
  signal(number, SIG_DFL);
  raise(number);
}

// Keys are read by a thread, which is woken; a secret is read by a call that goes on by itself.
static void continued(int number) {
  (void)number;
  if (cleared & ICANON) {
    send_wake('c');
    return;
  }
  int error = errno;
  enter_raw();
  errno = error;
}

static void handle(int number, void (*handler)(int), struct sigaction *before) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(number, &action, before);
}

static void handle_signals(void) {
  for (int i = 0; i < ending_count; i++) {
    handle(endings[i], ended, &earlier[i]);
    // Signals that were ignored at the start, such as SIGHUP under nohup, stay ignored.
    if (earlier[i].sa_handler == SIG_IGN) sigaction(endings[i], &earlier[i], NULL);
  }
  handle(SIGTSTP, stopped, NULL);
  handle(SIGCONT, continued, NULL);
  atexit(restore);
}

// Turns modes of the terminal off, until a signal or the end of the program restores them.
static void begin(tcflag_t modes) {
  static bool handled;
  cleared = modes;
  begun = 1;
  if (!handled) handle_signals();
  handled = true;
  enter_raw();
}

bool vidicon_keys_begin(void) {
  if (begun || !isatty(STDIN_FILENO)) return false;
  if (wake[0] < 0) {
    if (pipe(wake) != 0) return false;
    for (int i = 0; i < 2; i++) {
      fcntl(wake[i], F_SETFD, FD_CLOEXEC);
      fcntl(wake[i], F_SETFL, O_NONBLOCK);
    }
  }
  // In the background reads fail with EIO instead of stopping the program, and writes do not stop it.
  signal(SIGTTIN, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);
  begin(ICANON | ECHO);
  return true;
}

int vidicon_keys_next(void) {
  while (begun) {
    // In the background only the wake pipe is polled: typed keys belong to other processes.
    struct pollfd sources[2] = {{.fd = wake[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    if (poll(sources, raw && in_foreground() ? 2 : 1, -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (sources[0].revents != 0) {
      char what;
      if (read(wake[0], &what, 1) == 1 && what == 'e') return -1;
      raw = raw && in_foreground();
      enter_raw();
      continue;
    }
    unsigned char key;
    ssize_t count = read(STDIN_FILENO, &key, 1);
    if (count == 1) return key;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0 && errno == EIO && !in_foreground()) {
      raw = 0;
      continue;
    }
    return -1; // The terminal is gone.
  }
  return -1;
}

void vidicon_keys_end(void) {
  if (!begun) return;
  begun = 0;
  restore();
  send_wake('e');
}

bool vidicon_secret_begin(void) {
  if (begun || !isatty(STDIN_FILENO)) return false;
  handle(SIGINT, interrupted, NULL);
  handle(SIGTERM, interrupted, NULL);
  begin(ECHO);
  return true;
}

void vidicon_secret_end(void) {
  if (!begun) return;
  begun = 0;
  restore();
}
