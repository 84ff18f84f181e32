// Embeds Sources/ControlAPI/Documents/openapi.json at compile time: no file is read at run time.

#include "OpenAPIDocument.h"

// C23 has #embed; compilers that know it accept it in older C too, with a warning.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "../ControlAPI/Documents/openapi.json"
};

const unsigned char *vidicon_openapi_document(size_t *count) {
  *count = sizeof(document);
  return document;
}
