#ifndef VIDICON_CDISCOVERY_H
#define VIDICON_CDISCOVERY_H

#include <stdint.h>

/// Returns the interface index that restricts an announcement to this machine.
///
/// loopback: index of the loopback interface, which Avahi uses; Apple's systems have a special index.
uint32_t vidicon_discovery_local_only(uint32_t loopback);

#endif
