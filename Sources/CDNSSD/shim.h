#ifndef VIDICON_CDNSSD_SHIM_H
#define VIDICON_CDNSSD_SHIM_H

// DNS service discovery: the system's own on Apple's systems, Avahi's compatibility library on Linux.

#include <dns_sd.h>

#endif
