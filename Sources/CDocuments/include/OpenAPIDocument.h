#ifndef VIDICON_OPENAPI_DOCUMENT_H
#define VIDICON_OPENAPI_DOCUMENT_H

#include <stddef.h>

/// The OpenAPI document of the HTTP server as JSON, UTF-8, not null-terminated. Static storage.
///
/// @param count Set to the number of bytes.
const unsigned char *vidicon_openapi_document(size_t *count);

#endif
