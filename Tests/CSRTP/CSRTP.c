#include "CSRTP.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Declarations of libsrtp 2's srtp.h, whose binary interface is the same in all of 2.x.
struct crypto_policy {
  uint32_t cipher_type;
  int cipher_key_len;
  uint32_t auth_type;
  int auth_key_len;
  int auth_tag_len;
  int sec_serv;
};

struct policy {
  struct {
    int type;
    unsigned int value;
  } ssrc;
  struct crypto_policy rtp;
  struct crypto_policy rtcp;
  uint8_t *key;
  void **keys;
  unsigned long num_master_keys;
  void *deprecated_ekt;
  unsigned long window_size;
  int allow_repeat_tx;
  int *enc_xtn_hdr;
  int enc_xtn_hdr_count;
  struct policy *next;
};

enum { any_inbound = 2, any_outbound = 3 };

static struct {
  int (*init)(void);
  int (*create)(void **, const struct policy *);
  int (*dealloc)(void *);
  int (*set_rtp)(struct crypto_policy *, int profile);
  int (*set_rtcp)(struct crypto_policy *, int profile);
  int (*protect)(void *, void *, int *);
  int (*unprotect)(void *, void *, int *);
  int (*protect_rtcp)(void *, void *, int *);
  int (*unprotect_rtcp)(void *, void *, int *);
  int is_loaded;
} library;

static void load(void) {
  void *handle = dlopen("libsrtp2.so.1", RTLD_NOW);
  if (!handle) handle = dlopen("libsrtp2.1.dylib", RTLD_NOW);
  if (!handle) return;
  *(void **)&library.init = dlsym(handle, "srtp_init");
  *(void **)&library.create = dlsym(handle, "srtp_create");
  *(void **)&library.dealloc = dlsym(handle, "srtp_dealloc");
  *(void **)&library.set_rtp = dlsym(handle, "srtp_crypto_policy_set_from_profile_for_rtp");
  *(void **)&library.set_rtcp = dlsym(handle, "srtp_crypto_policy_set_from_profile_for_rtcp");
  *(void **)&library.protect = dlsym(handle, "srtp_protect");
  *(void **)&library.unprotect = dlsym(handle, "srtp_unprotect");
  *(void **)&library.protect_rtcp = dlsym(handle, "srtp_protect_rtcp");
  *(void **)&library.unprotect_rtcp = dlsym(handle, "srtp_unprotect_rtcp");
  library.is_loaded = library.init && library.create && library.dealloc && library.set_rtp && library.set_rtcp &&
                      library.protect && library.unprotect && library.protect_rtcp && library.unprotect_rtcp &&
                      library.init() == 0;
}

struct csrtp {
  void *session;
  int seals;
  uint8_t key[64];
};

struct csrtp *csrtp_create(int profile, const uint8_t *key, size_t length, int seals) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  struct csrtp *result = calloc(1, sizeof *result);
  if (!library.is_loaded || !result || length > sizeof result->key) {
    free(result);
    return NULL;
  }
  memcpy(result->key, key, length);
  result->seals = seals;
  struct policy policy = {.key = result->key, .window_size = 128};
  policy.ssrc.type = seals ? any_outbound : any_inbound;
  if (library.set_rtp(&policy.rtp, profile) || library.set_rtcp(&policy.rtcp, profile) ||
      library.create(&result->session, &policy)) {
    free(result);
    return NULL;
  }
  return result;
}

void csrtp_free(struct csrtp *session) {
  library.dealloc(session->session);
  free(session);
}

int csrtp_process(struct csrtp *session, int is_control, uint8_t *packet, int *length) {
  if (session->seals)
    return (is_control ? library.protect_rtcp : library.protect)(session->session, packet, length);
  return (is_control ? library.unprotect_rtcp : library.unprotect)(session->session, packet, length);
}
