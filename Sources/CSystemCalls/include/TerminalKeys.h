#ifndef VIDICON_TERMINAL_KEYS_H
#define VIDICON_TERMINAL_KEYS_H

#include <stdbool.h>

// Reads single keys from the terminal on standard input, without echo and without the Enter key. Ctrl-C and Ctrl-Z
// keep their meaning.
//
// However the program ends, except by SIGKILL, and whenever it is stopped, the terminal mode is restored.

// Starts reading keys. False when standard input is not a terminal. A background process waits until it is in the
// foreground.
bool vidicon_keys_begin(void);

// Waits for a key.
//
// Returns its byte; -1 when no more keys follow.
int vidicon_keys_next(void);

// Restores the terminal mode; a pending vidicon_keys_next() returns -1.
void vidicon_keys_end(void);

// Shows nothing of what is typed, until vidicon_secret_end(); lines are read as otherwise. Ctrl-C and SIGTERM end the program at once.
// False when standard input is not a terminal.
bool vidicon_secret_begin(void);

// Restores the terminal mode.
void vidicon_secret_end(void);

#endif
