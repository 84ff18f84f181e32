#include "CCryptography.h"

#include <limits.h>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <time.h>

vidicon_certificate *vidicon_certificate_read(const uint8_t *der, size_t count) {
  if (count == 0 || count > LONG_MAX) return NULL;
  const unsigned char *end = der;
  X509 *certificate = d2i_X509(NULL, &end, (long)count);
  if (certificate != NULL && end == der + count) return certificate;
  X509_free(certificate);
  ERR_clear_error();
  return NULL;
}

void vidicon_certificate_destroy(vidicon_certificate *certificate) { X509_free(certificate); }

static bool seconds_of(const ASN1_TIME *time, int64_t *seconds) {
  struct tm parts;
  if (ASN1_TIME_to_tm(time, &parts) != 1) return false;
  *seconds = timegm(&parts);
  return true;
}

bool vidicon_certificate_validity(const vidicon_certificate *certificate, int64_t *not_before, int64_t *not_after) {
  bool is_read = seconds_of(X509_get0_notBefore(certificate), not_before) && seconds_of(X509_get0_notAfter(certificate), not_after);
  if (!is_read) ERR_clear_error();
  return is_read;
}

bool vidicon_certificate_has_key(const vidicon_certificate *certificate, const vidicon_key *key) {
  bool has_key = X509_check_private_key(certificate, key) == 1;
  if (!has_key) ERR_clear_error();
  return has_key;
}

bool vidicon_certificate_is_signed_by(vidicon_certificate *certificate, const vidicon_certificate *issuer) {
  EVP_PKEY *key = X509_get0_pubkey(issuer);
  bool is_signed = key != NULL && X509_verify(certificate, key) == 1;
  if (!is_signed) ERR_clear_error();
  return is_signed;
}

bool vidicon_certificate_issues_end_entities(const vidicon_certificate *certificate) {
  // Bit of keyCertSign, and the number of bits of KeyUsage.
  enum { CERTIFICATE_SIGN = 5, USAGE_COUNT = 9 };
  int is_critical = 0;
  int64_t path_length = -1;
  BASIC_CONSTRAINTS *constraints = X509_get_ext_d2i(certificate, NID_basic_constraints, &is_critical, NULL);
  ASN1_BIT_STRING *usage = X509_get_ext_d2i(certificate, NID_key_usage, NULL, NULL);
  bool is_limited = constraints != NULL && usage != NULL && is_critical == 1 && constraints->ca != 0 && constraints->pathlen != NULL &&
                    ASN1_INTEGER_get_int64(&path_length, constraints->pathlen) == 1 && path_length == 0;
  for (int bit = 0; is_limited && bit < USAGE_COUNT; bit++) {
    is_limited = ASN1_BIT_STRING_get_bit(usage, bit) == (bit == CERTIFICATE_SIGN);
  }
  BASIC_CONSTRAINTS_free(constraints);
  ASN1_BIT_STRING_free(usage);
  if (!is_limited) ERR_clear_error();
  return is_limited;
}

vidicon_names *vidicon_names_create(void) { return GENERAL_NAMES_new(); }

void vidicon_names_destroy(vidicon_names *names) { GENERAL_NAMES_free(names); }

bool vidicon_names_append(vidicon_names *names, vidicon_name name) {
  bool is_address = name.kind == VIDICON_NAME_ADDRESS;
  GENERAL_NAME *entry = GENERAL_NAME_new();
  ASN1_STRING *value = ASN1_STRING_type_new(is_address ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  if (entry != NULL && value != NULL && name.kind != VIDICON_NAME_OTHER && name.count <= INT_MAX &&
      ASN1_STRING_set(value, name.bytes, (int)name.count) == 1) {
    // The entry frees the value, and the list frees the entry.
    GENERAL_NAME_set0_value(entry, is_address ? GEN_IPADD : GEN_DNS, value);
    if (sk_GENERAL_NAME_push(names, entry) > 0) return true;
    value = NULL;
  }
  ASN1_STRING_free(value);
  GENERAL_NAME_free(entry);
  return false;
}

size_t vidicon_names_count(const vidicon_names *names) {
  int count = sk_GENERAL_NAME_num(names);
  return count > 0 ? (size_t)count : 0;
}

vidicon_name vidicon_names_get(const vidicon_names *names, size_t index) {
  int kind = 0;
  const void *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, (int)index), &kind);
  vidicon_name name = {VIDICON_NAME_OTHER, NULL, 0};
  if (kind != GEN_DNS && kind != GEN_IPADD) return name;
  name.kind = kind == GEN_DNS ? VIDICON_NAME_DNS : VIDICON_NAME_ADDRESS;
  name.bytes = ASN1_STRING_get0_data(value);
  name.count = (size_t)ASN1_STRING_length(value);
  return name;
}

vidicon_names *vidicon_certificate_alternatives(const vidicon_certificate *certificate) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  if (names == NULL) ERR_clear_error();
  return names;
}

vidicon_names *vidicon_certificate_permitted(const vidicon_certificate *certificate) {
  int is_critical = 0;
  NAME_CONSTRAINTS *constraints = X509_get_ext_d2i(certificate, NID_name_constraints, &is_critical, NULL);
  GENERAL_NAMES *names = constraints != NULL && is_critical == 1 ? GENERAL_NAMES_new() : NULL;
  int count = names == NULL ? 0 : sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees);
  for (int index = 0; index < count; index++) {
    GENERAL_SUBTREE *subtree = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, index);
    if (sk_GENERAL_NAME_push(names, subtree->base) <= 0) {
      GENERAL_NAMES_free(names);
      names = NULL;
      break;
    }
    // The list frees the name.
    subtree->base = NULL;
  }
  NAME_CONSTRAINTS_free(constraints);
  if (names == NULL) ERR_clear_error();
  return names;
}
