internal import CCryptography

/// A certificate of X.509, RFC 5280: its encoding, and the fields that are of use here.
package struct Certificate: Hashable, Sendable {
  /// The certificate in DER.
  package let der: [UInt8]
  /// Start of the validity, §4.1.2.5, in seconds since 1970-01-01 00:00 UTC.
  package let notBefore: Int64
  /// End of the validity, §4.1.2.5, in seconds since 1970-01-01 00:00 UTC.
  package let notAfter: Int64
  /// Names and addresses of the subject, §4.2.1.6; nil without any, and where the extension is malformed.
  package let alternativeNames: [GeneralName]?
  /// Names and networks that an authority may issue certificates for, §4.2.1.10; nil without critical constraints.
  package let permittedNames: [GeneralName]?
  /// Whether it is that of an authority for end entities alone: critical basic constraints with a path length of 0, §4.2.1.9, and no
  /// key usage but that of signing certificates, §4.2.1.3.
  package let issuesEndEntities: Bool

  /// Reads a certificate in DER; nil for a malformed one.
  package init?(der: some Sequence<UInt8>) {
    guard let pointer = Self.read(der) else { return nil }
    self.init(moving: pointer)
  }

  /// Reads the fields of a certificate of libcrypto, which is destroyed.
  init?(moving pointer: OpaquePointer) {
    defer { vidicon_certificate_destroy(pointer) }
    var (notBefore, notAfter): (Int64, Int64) = (0, 0)
    guard vidicon_certificate_validity(pointer, &notBefore, &notAfter),
      let der = [UInt8](moving: vidicon_certificate_der(pointer))
    else { return nil }
    self.der = der
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.alternativeNames = GeneralName.all(moving: vidicon_certificate_alternatives(pointer))
    self.permittedNames = GeneralName.all(moving: vidicon_certificate_permitted(pointer))
    self.issuesEndEntities = vidicon_certificate_issues_end_entities(pointer)
  }

  /// The certificate in PEM, RFC 7468 §5, with a line end behind it.
  package var pem: String {
    get throws(CryptographyError) {
      guard let bytes = self.withPointer({ [UInt8](moving: vidicon_certificate_pem($0)) }) ?? nil else {
        throw CryptographyError()
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Whether it has the public key of a private key.
  package func belongs(to key: PrivateKey) -> Bool {
    self.withPointer { vidicon_certificate_has_key($0, key.pointer) } ?? false
  }

  /// Whether the key of another certificate, or of this one, has signed it. Names, dates and constraints are not compared.
  package func isSigned(by issuer: Certificate) -> Bool {
    let isSigned = self.withPointer { certificate in
      issuer.withPointer { vidicon_certificate_is_signed_by(certificate, $0) }
    }
    return (isSigned ?? nil) ?? false
  }

  /// Calls a body with a certificate of libcrypto; nil where memory is lacking.
  func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
    guard let pointer = Self.read(self.der) else { return nil }
    defer { vidicon_certificate_destroy(pointer) }
    return body(pointer)
  }

  private static func read(_ der: some Sequence<UInt8>) -> OpaquePointer? {
    der.withContiguousBytes { vidicon_certificate_read($0.baseAddress, $0.count) }
  }
}
