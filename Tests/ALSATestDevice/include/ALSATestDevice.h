#ifndef VIDICON_ALSA_TEST_DEVICE_H
#define VIDICON_ALSA_TEST_DEVICE_H

/// Does nothing; linking this target configures ALSA for tests before main.
void vidicon_alsa_test_device(void);

#endif
