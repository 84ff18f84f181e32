#ifndef VIDICON_CWEBPAGE_H
#define VIDICON_CWEBPAGE_H

#include <stddef.h>

/// A file of the web page, part of the program.
typedef struct {
  /// Its name, without a folder.
  const char *name;
  const unsigned char *bytes;
  size_t count;
} vidicon_page_file;

/// All files of the web page.
///
/// @param count Set to how many they are.
const vidicon_page_file *vidicon_page_files(size_t *count);

#endif
