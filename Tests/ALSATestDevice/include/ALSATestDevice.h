#ifndef VIDICON_ALSA_TEST_DEVICE_H
#define VIDICON_ALSA_TEST_DEVICE_H

/// Does nothing; whoever links this target has ALSA configured for tests, from before main on.
void vidicon_alsa_test_device(void);

#endif
