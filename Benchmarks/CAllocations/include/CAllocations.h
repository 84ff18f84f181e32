#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// How often this process has asked for memory on the heap, in all threads.
unsigned long allocations_made(void);

#endif
