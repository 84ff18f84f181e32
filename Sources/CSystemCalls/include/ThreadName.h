#ifndef VIDICON_THREAD_NAME_H
#define VIDICON_THREAD_NAME_H

/// Names the calling thread for debuggers and `top -H`; Linux keeps the first 15 bytes. In C, since Swift's Glibc module
/// lacks the GNU extension that does it.
void vidicon_set_thread_name(const char *name);

#endif
