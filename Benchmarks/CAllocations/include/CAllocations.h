#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// Number of heap allocations of this process so far, in all threads.
unsigned long allocations_made(void);

#endif
