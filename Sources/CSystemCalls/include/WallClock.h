#ifndef VIDICON_WALL_CLOCK_H
#define VIDICON_WALL_CLOCK_H

/// Whether a time service keeps the clock of the machine: 1 if so, 0 if not or if it cannot be read. In C, since Swift's
/// Glibc module lacks `adjtimex(2)`. Platforms without it count as synchronized.
int vidicon_clock_is_synchronized(void);

#endif
