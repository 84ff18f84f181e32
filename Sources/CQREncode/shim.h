#ifndef VIDICON_CQRENCODE_SHIM_H
#define VIDICON_CQRENCODE_SHIM_H

// libqrencode: QR codes, ISO/IEC 18004.

#include <qrencode.h>

#endif
