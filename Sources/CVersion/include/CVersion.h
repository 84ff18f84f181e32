#ifndef VIDICON_VERSION_H
#define VIDICON_VERSION_H

/// The commit that the program was built from, such as "abcdef123456", with "+" behind it when files had been changed; empty for a
/// build without VIDICON_COMMIT. In C, since a definition of the build can be text here, and changes no other target.
const char *vidicon_commit(void);

#endif
