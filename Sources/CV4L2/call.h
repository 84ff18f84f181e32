#ifndef VIDICON_CV4L2_CALL_H
#define VIDICON_CV4L2_CALL_H

/// An ioctl, repeated when a signal interrupts it. Returns 0 or an errno.
int vidicon_v4l2_call(int descriptor, unsigned long request, void *argument);
/// Copies a text of 32 bytes that need not end in a zero.
void vidicon_v4l2_copy_text(char *text, const void *from);

#endif
