#ifndef CTERMINAL_H
#define CTERMINAL_H

#include <stdbool.h>

// Keys of the terminal that is the standard input: one at a time, not shown, without the Enter key. Ctrl-C and Ctrl-Z
// remain what they are.
//
// However the program ends, but for SIGKILL, and whenever it is stopped, the terminal is as it was before.

// Turns keys on. False when the standard input is no terminal. In the background they wait for the foreground.
bool vidicon_keys_begin(void);

// Waits for a key.
//
// Returns its byte; -1 when there will be no more.
int vidicon_keys_next(void);

// Gives the terminal back as it was; vidicon_keys_next() ends.
void vidicon_keys_end(void);

#endif
