#include "CDiscovery.h"

#ifdef __APPLE__
#include <dns_sd.h>
#endif

uint32_t vidicon_discovery_local_only(uint32_t loopback) {
#ifdef __APPLE__
  (void)loopback;
  return kDNSServiceInterfaceIndexLocalOnly;
#else
  return loopback;
#endif
}
