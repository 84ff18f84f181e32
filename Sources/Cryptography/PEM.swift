internal import CCryptography

/// Keys and certificates in texts of PEM, RFC 7468. A text with any other document, or with one that is encrypted, is not accepted.
package enum PEM {
  /// The only document of a text, a private key in PKCS #8, SEC 1 or PKCS #1; nil for any other text.
  package static func key(in text: String) -> PrivateKey? {
    var pointer: OpaquePointer?
    let isRead = text.utf8.withContiguousBytes { vidicon_pem_read($0.baseAddress, $0.count, &pointer, nil) }
    return isRead ? pointer.map { PrivateKey(adopting: $0) } : nil
  }

  /// The only document of a text, a certificate; nil for any other text.
  package static func certificate(in text: String) -> Certificate? {
    var pointer: OpaquePointer?
    let isRead = text.utf8.withContiguousBytes { vidicon_pem_read($0.baseAddress, $0.count, nil, &pointer) }
    return isRead ? pointer.flatMap { Certificate(moving: $0) } : nil
  }

  /// A private key and a certificate, which are the only documents of a text, in either order; nil for any other text.
  package static func keyAndCertificate(in text: String) -> (key: PrivateKey, certificate: Certificate)? {
    var (keyPointer, certificatePointer): (OpaquePointer?, OpaquePointer?) = (nil, nil)
    let isRead = text.utf8.withContiguousBytes {
      vidicon_pem_read($0.baseAddress, $0.count, &keyPointer, &certificatePointer)
    }
    guard isRead, let key = keyPointer.map({ PrivateKey(adopting: $0) }),
      let certificate = certificatePointer.flatMap({ Certificate(moving: $0) })
    else { return nil }
    return (key, certificate)
  }
}
