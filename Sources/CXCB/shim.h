#ifndef VIDICON_CXCB_SHIM_H
#define VIDICON_CXCB_SHIM_H

// The X11 protocol (libxcb) with the extensions used for screen capture, and the X authority file (libXau).

#include <X11/Xauth.h>
#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>

// libxcb declares extensions as global variables, which Swift treats as shared mutable state.

static inline const xcb_query_extension_reply_t *vidicon_xcb_composite(xcb_connection_t *connection) {
  return xcb_get_extension_data(connection, &xcb_composite_id);
}

static inline const xcb_query_extension_reply_t *vidicon_xcb_damage(xcb_connection_t *connection) {
  return xcb_get_extension_data(connection, &xcb_damage_id);
}

static inline const xcb_query_extension_reply_t *vidicon_xcb_randr(xcb_connection_t *connection) {
  return xcb_get_extension_data(connection, &xcb_randr_id);
}

static inline const xcb_query_extension_reply_t *vidicon_xcb_shm(xcb_connection_t *connection) {
  return xcb_get_extension_data(connection, &xcb_shm_id);
}

static inline const xcb_query_extension_reply_t *vidicon_xcb_xfixes(xcb_connection_t *connection) {
  return xcb_get_extension_data(connection, &xcb_xfixes_id);
}

#endif
