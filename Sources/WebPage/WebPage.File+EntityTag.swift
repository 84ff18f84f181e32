internal import Crypto
internal import NIOCore

extension WebPage.File {
  /// Makes a file, its entity tag out of the first 96 bits of the SHA-256 of its bytes.
  init(_ bytes: ByteBuffer, mediaType: String) {
    var hash = SHA256()
    bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    var entityTag = ""
    for byte in hash.finalize().prefix(12) {
      if byte < 16 { entityTag += "0" }
      entityTag += String(byte, radix: 16)
    }
    self.bytes = bytes
    self.mediaType = mediaType
    self.entityTag = "\"\(entityTag)\""
  }
}
