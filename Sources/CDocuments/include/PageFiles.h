#ifndef VIDICON_PAGE_FILES_H
#define VIDICON_PAGE_FILES_H

#include <stddef.h>

/// An embedded file of the web page.
typedef struct {
  /// File name without a folder.
  const char *name;
  const unsigned char *bytes;
  /// Number of bytes.
  size_t count;
} vidicon_page_file;

/// The embedded files of the web page. Static storage.
///
/// @param count Set to the number of files.
const vidicon_page_file *vidicon_page_files(size_t *count);

#endif
