#ifndef VIDICON_CV4L2_CALL_H
#define VIDICON_CV4L2_CALL_H

/// Calls `ioctl`, again when a signal interrupts it. Returns 0 or an errno.
int vidicon_v4l2_call(int descriptor, unsigned long request, void *argument);
/// Copies 32 characters, which need not be zero-terminated, and appends a zero.
void vidicon_v4l2_copy_text(char *text, const void *from);

#endif
