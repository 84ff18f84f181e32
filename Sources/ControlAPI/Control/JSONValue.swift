package import Media
package import NIOCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension JSONValue {
  /// Reads a document; nil for anything else.
  package init?(parsing bytes: ByteBuffer) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes.readableBytesView)) else { return nil }
    self = value
  }
}
