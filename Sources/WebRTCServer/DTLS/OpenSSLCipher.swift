internal import CDTLS
internal import WebRTC

/// A cipher of SRTP by OpenSSL, whose contexts are made once. Used by one thread at a time.
final class OpenSSLCipher: SRTPCipher {
  private let cipher: OpaquePointer

  /// Adopts the cipher, and destroys it at the end.
  init(_ cipher: OpaquePointer) {
    self.cipher = cipher
  }

  deinit {
    vidicon_srtp_cipher_destroy(self.cipher)
  }

  func seal(
    _ plaintext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(ciphertext.count >= plaintext.count, "the ciphertext is as long as the plaintext")
    return Self.with(nonce, header, trailer) { nonce, associated in
      vidicon_srtp_seal(
        self.cipher, nonce, associated, plaintext.bytes, plaintext.count, ciphertext.bytes, tag.bytes, tag.count)
    }
  }

  func open(
    _ ciphertext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into plaintext: UnsafeMutableRawBufferPointer, tag: UnsafeRawBufferPointer
  ) -> Bool {
    precondition(plaintext.count >= ciphertext.count, "the plaintext is as long as the ciphertext")
    return Self.with(nonce, header, trailer) { nonce, associated in
      vidicon_srtp_open(
        self.cipher, nonce, associated, ciphertext.bytes, ciphertext.count, plaintext.bytes, tag.bytes, tag.count)
    }
  }

  /// Calls C with pointers to the nonce and to the associated data.
  private static func with(
    _ nonce: SIMD16<UInt8>, _ header: UnsafeRawBufferPointer, _ trailer: UInt32?,
    _ body: (UnsafePointer<UInt8>?, vidicon_srtp_associated) -> Bool
  ) -> Bool {
    withUnsafeBytes(of: nonce) { nonce in
      withUnsafeBytes(of: (trailer ?? 0).bigEndian) { bytes in
        body(
          nonce.bytes,
          vidicon_srtp_associated(
            header: header.bytes, header_length: header.count, trailer: bytes.bytes,
            trailer_length: trailer == nil ? 0 : bytes.count))
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The first byte, for C; nil of an empty buffer.
  fileprivate var bytes: UnsafePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
  /// The first byte, for C; nil of an empty buffer.
  fileprivate var bytes: UnsafeMutablePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
