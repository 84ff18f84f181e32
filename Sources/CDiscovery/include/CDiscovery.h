#ifndef VIDICON_CDISCOVERY_H
#define VIDICON_CDISCOVERY_H

#include <stdint.h>

/// The interface index that keeps an announcement on this machine.
///
/// loopback: the index of the loopback interface. Avahi takes it as it is; the system of Apple has an index of its own.
uint32_t vidicon_discovery_local_only(uint32_t loopback);

#endif
