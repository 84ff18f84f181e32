#include "CCryptography.h"

#include <limits.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// Adds an extension that is the same in all certificates, in the words of openssl's x509v3_config(5).
static bool add_fixed(X509 *certificate, int identifier, const char *value) {
  X509_EXTENSION *extension = X509V3_EXT_nconf_nid(NULL, NULL, identifier, value);
  bool is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

/// Adds the SHA-1 of the public key, RFC 5280 §4.2.1.2 (1).
static bool add_subject_key_identifier(X509 *certificate) {
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  ASN1_OCTET_STRING *identifier = ASN1_OCTET_STRING_new();
  bool is_added = identifier != NULL && X509_pubkey_digest(certificate, EVP_sha1(), digest, &length) == 1 &&
                  ASN1_OCTET_STRING_set(identifier, digest, (int)length) == 1 &&
                  X509_add1_ext_i2d(certificate, NID_subject_key_identifier, identifier, 0, X509V3_ADD_DEFAULT) == 1;
  ASN1_OCTET_STRING_free(identifier);
  return is_added;
}

/// Adds the subject key identifier of the issuer, RFC 5280 §4.2.1.1.
static bool add_authority_key_identifier(X509 *certificate, const X509 *issuer) {
  AUTHORITY_KEYID *identifier = AUTHORITY_KEYID_new();
  if (identifier == NULL) return false;
  identifier->keyid = X509_get_ext_d2i(issuer, NID_subject_key_identifier, NULL, NULL);
  bool is_added = X509_add1_ext_i2d(certificate, NID_authority_key_identifier, identifier, 0, X509V3_ADD_DEFAULT) == 1;
  AUTHORITY_KEYID_free(identifier);
  return is_added;
}

/// Appends a permitted subtree, RFC 5280 §4.2.1.10.
static bool permit(NAME_CONSTRAINTS *constraints, const GENERAL_NAME *name) {
  GENERAL_SUBTREE *subtree = GENERAL_SUBTREE_new();
  if (subtree == NULL) return false;
  GENERAL_NAME_free(subtree->base);
  subtree->base = GENERAL_NAME_dup(name);
  if (subtree->base != NULL && sk_GENERAL_SUBTREE_push(constraints->permittedSubtrees, subtree) > 0) return true;
  GENERAL_SUBTREE_free(subtree);
  return false;
}

static bool add_name_constraints(X509 *certificate, const GENERAL_NAMES *names) {
  NAME_CONSTRAINTS *constraints = NAME_CONSTRAINTS_new();
  if (constraints == NULL) return false;
  constraints->permittedSubtrees = sk_GENERAL_SUBTREE_new_null();
  bool is_added = constraints->permittedSubtrees != NULL;
  for (int index = 0; is_added && index < sk_GENERAL_NAME_num(names); index++) {
    is_added = permit(constraints, sk_GENERAL_NAME_value(names, index));
  }
  is_added = is_added && X509_add1_ext_i2d(certificate, NID_name_constraints, constraints, 1, X509V3_ADD_DEFAULT) == 1;
  NAME_CONSTRAINTS_free(constraints);
  return is_added;
}

/// Sets a positive serial number of at most 20 bytes, RFC 5280 §4.1.2.2.
static bool set_serial_number(X509 *certificate) {
  BIGNUM *number = BN_new();
  bool is_set = number != NULL && BN_rand(number, 159, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
  BN_free(number);
  return is_set;
}

/// A certificate without extensions and signature, of version 3, which is its own issuer.
static X509 *make(vidicon_certificate_fields fields, EVP_PKEY *key) {
  X509 *certificate = X509_new();
  X509_NAME *name = certificate == NULL ? NULL : X509_get_subject_name(certificate);
  if (name != NULL && fields.common_name_count <= INT_MAX && X509_set_version(certificate, X509_VERSION_3) == 1 &&
      set_serial_number(certificate) &&
      X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING, fields.common_name, (int)fields.common_name_count, -1, 0) == 1 &&
      X509_set_issuer_name(certificate, name) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)fields.not_before) != NULL &&
      ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)fields.not_after) != NULL && X509_set_pubkey(certificate, key) == 1)
    return certificate;
  X509_free(certificate);
  return NULL;
}

vidicon_certificate *vidicon_certificate_make_authority(vidicon_certificate_fields fields, vidicon_key *key) {
  X509 *certificate = make(fields, key);
  if (certificate != NULL && add_fixed(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_fixed(certificate, NID_key_usage, "critical,keyCertSign") && add_name_constraints(certificate, fields.names) &&
      // Neither mail nor programs are signed, although name constraints do not limit these.
      add_fixed(certificate, NID_ext_key_usage, "serverAuth") && add_subject_key_identifier(certificate) &&
      X509_sign(certificate, key, EVP_sha256()) > 0)
    return certificate;
  X509_free(certificate);
  return NULL;
}

vidicon_certificate *vidicon_certificate_make_server(vidicon_certificate_fields fields, vidicon_key *key,
                                                     const vidicon_certificate *issuer, vidicon_key *issuer_key) {
  X509 *certificate = make(fields, key);
  if (certificate != NULL && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
      add_fixed(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
      add_fixed(certificate, NID_key_usage, "critical,digitalSignature") &&
      add_fixed(certificate, NID_ext_key_usage, "serverAuth") &&
      X509_add1_ext_i2d(certificate, NID_subject_alt_name, (void *)fields.names, 0, X509V3_ADD_DEFAULT) == 1 &&
      add_authority_key_identifier(certificate, issuer) && add_subject_key_identifier(certificate) &&
      X509_sign(certificate, issuer_key, EVP_sha256()) > 0)
    return certificate;
  X509_free(certificate);
  return NULL;
}
