#ifndef VIDICON_THREAD_NAME_H
#define VIDICON_THREAD_NAME_H

/// Names the calling thread for debuggers and `top -H`; Linux keeps the first 15 bytes. A GNU extension that Swift's
/// module of the C library leaves out.
void vidicon_set_thread_name(const char *name);

#endif
