#define _GNU_SOURCE
#include "FreeMemory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#endif

void vidicon_return_free_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void vidicon_avoid_huge_pages(void) {
#ifdef PR_SET_THP_DISABLE
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
}

void vidicon_return_unused_code(void) {
#ifdef __GLIBC__
  FILE *file = fopen("/proc/self/smaps", "re");
  if (file == NULL) return;
  char line[8192], permissions[8] = "";
  unsigned long begin = 0, end = 0, first, last;
  int is_file = 0;
  long changed;
  while (fgets(line, sizeof line, file) != NULL) {
    // "BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH", and its lines "NAME: VALUE kB".
    char text[8];
    if (sscanf(line, "%lx-%lx %7s", &first, &last, text) == 3) {
      begin = first;
      end = last;
      memcpy(permissions, text, sizeof text);
      is_file = strchr(line, '/') != NULL;
    } else if (sscanf(line, "Anonymous: %ld kB", &changed) == 1 && is_file && changed == 0 && permissions[1] == '-' &&
               permissions[3] == 'p') {
      // Pages of a file that are as in the file: read again from it when they are needed.
      madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
  }
  fclose(file);
#endif
}
