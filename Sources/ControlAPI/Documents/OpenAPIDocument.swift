internal import Authentication
internal import CDocuments
internal import Cryptography
internal import Media
internal import NIOCore

/// The OpenAPI 3.1 document served at `/api/openapi.json`, embedded from `openapi.json` in this folder.
enum OpenAPIDocument {
  /// The JSON, UTF-8; the storage is shared by all responses.
  static let bytes: ByteBuffer = {
    var count = 0
    let start = vidicon_openapi_document(&count)
    return ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count))
  }()

  /// The entity tag, RFC 9110 §8.8.3, with its quotes: the first 96 bits of the SHA-256 of ``bytes``, hexadecimal.
  static let etag =
    "\"\(Hexadecimal.encode(HashAlgorithm.sha256.digest(of: Self.bytes.readableBytesView).prefix(12)))\""
}
