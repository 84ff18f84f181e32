internal import CCryptography

extension Certificate {
  /// Subject and validity of a certificate to make. Serial numbers are random numbers of libcrypto.
  package struct Subject: Hashable, Sendable {
    /// The common name.
    package var commonName: String
    /// Start of the validity, in seconds since 1970-01-01 00:00 UTC.
    package var notBefore: Int64
    /// End of the validity, in seconds since 1970-01-01 00:00 UTC.
    package var notAfter: Int64

    /// Creates a subject that is valid between two times in seconds since 1970.
    package init(commonName: String, notBefore: Int64, notAfter: Int64) {
      self.commonName = commonName
      self.notBefore = notBefore
      self.notAfter = notAfter
    }
  }

  /// Makes the certificate of an authority, signed with its own key.
  ///
  /// Critical extensions limit it to certificates of end entities with some names, RFC 5280 §4.2.1.10; its extended key usage to TLS
  /// servers.
  package static func authority(
    _ subject: Subject, permitting names: [GeneralName], key: PrivateKey
  ) throws(CryptographyError) -> Certificate {
    try Self.make(subject, names: names) { vidicon_certificate_make_authority($0, key.pointer) }
  }

  /// Makes the certificate of a TLS server with some names, signed by an authority.
  package static func server(
    _ subject: Subject, names: [GeneralName], key: PrivateKey, issuer: Certificate, issuerKey: PrivateKey
  ) throws(CryptographyError) -> Certificate {
    try Self.make(subject, names: names) { fields in
      let made = issuer.withPointer { issuer -> OpaquePointer? in
        vidicon_certificate_make_server(fields, key.pointer, issuer, issuerKey.pointer)
      }
      return made ?? nil
    }
  }

  private static func make(
    _ subject: Subject, names: [GeneralName], _ make: (vidicon_certificate_fields) -> OpaquePointer?
  ) throws(CryptographyError) -> Certificate {
    guard let list = vidicon_names_create() else { throw CryptographyError() }
    defer { vidicon_names_destroy(list) }
    guard names.allSatisfy({ $0.append(to: list) }) else { throw CryptographyError() }
    let made = subject.commonName.utf8.withContiguousBytes { name in
      make(
        vidicon_certificate_fields(
          common_name: name.baseAddress, common_name_count: name.count, not_before: subject.notBefore,
          not_after: subject.notAfter, names: list))
    }
    guard let pointer = made, let certificate = Certificate(moving: pointer) else { throw CryptographyError() }
    return certificate
  }
}
