package import Media
package import NIOCore

/// A source description packet (SDES), RFC 3550 §6.5.
public struct RTCPSourceDescription: Hashable, Sendable {
  /// One item of a source, RFC 3550 §6.5.1 to §6.5.8.
  public struct Item: Hashable, Sendable {
    /// The item type, 1 to 255.
    public var kind: Kind
    /// The bytes: UTF-8, except for ``Kind/privateExtension``; at most 255.
    public var value: [UInt8]

    /// A text item, truncated to 255 bytes at a character.
    public init(_ kind: Kind, _ text: String) {
      self.init(kind, value: text.utf8Bytes(upTo: 255))
    }

    /// An item with arbitrary bytes, at most 255.
    public init(_ kind: Kind, value: [UInt8]) {
      self.kind = kind
      self.value = value
    }

    /// A private extension (§6.5.8): prefix and value, together truncated to 254 bytes.
    public init(privatePrefix prefix: String, value: String) {
      let name = prefix.utf8Bytes(upTo: 254)
      self.init(.privateExtension, value: [UInt8(name.count)] + name + value.utf8Bytes(upTo: 254 - name.count))
    }

    /// The value as text; invalid UTF-8 is replaced.
    public var text: String {
      String(decoding: self.value, as: UTF8.self)
    }

    /// Prefix and value of a private extension; nil for other item types, or when the prefix length is invalid.
    public var privateExtension: (prefix: String, value: String)? {
      guard self.kind == .privateExtension, let length = self.value.first, Int(length) < self.value.count else {
        return nil
      }
      let end = 1 + Int(length)
      return (
        String(decoding: self.value[1..<end], as: UTF8.self), String(decoding: self.value[end...], as: UTF8.self)
      )
    }
  }

  /// The type of an item, RFC 3550 §12.2.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// The type's number in RFC 3550 §12.2.
    public var rawValue: UInt8

    /// A type by its number, 1 to 255; 0 ends the list of items.
    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// CNAME, §6.5.1: the same for all tracks of a stream; players synchronize audio and video by it.
    public static let cname = Self(rawValue: 1)
    /// NAME, §6.5.2: the user's name, for display.
    public static let name = Self(rawValue: 2)
    /// EMAIL, §6.5.3: the user's e-mail address.
    public static let email = Self(rawValue: 3)
    /// PHONE, §6.5.4: the user's telephone number, with "+" and country code.
    public static let phone = Self(rawValue: 4)
    /// LOC, §6.5.5: the user's geographic location.
    public static let location = Self(rawValue: 5)
    /// TOOL, §6.5.6: name, and possibly version, of the sending program.
    public static let tool = Self(rawValue: 6)
    /// NOTE, §6.5.7: a transient message about the source's state.
    public static let note = Self(rawValue: 7)
    /// PRIV, §6.5.8: an experimental or application-specific item with prefix and value.
    public static let privateExtension = Self(rawValue: 8)
  }

  /// The items of one source: one chunk of the packet.
  public struct Chunk: Hashable, Sendable {
    /// SSRC or CSRC of the source.
    public var ssrc: UInt32
    /// The items, in the order of the packet.
    public var items: [Item]

    /// Creates a chunk with the items of one source.
    public init(ssrc: UInt32, items: [Item]) {
      self.ssrc = ssrc
      self.items = items
    }
  }

  /// One chunk for each source, at most 31.
  public var chunks: [Chunk]

  /// Creates an SDES packet of at most 31 chunks.
  public init(chunks: [Chunk]) {
    self.chunks = chunks
  }

  /// A packet with the CNAME of one source, which every compound packet must contain.
  public init(ssrc: UInt32, cname: String) {
    self.init(chunks: [Chunk(ssrc: ssrc, items: [Item(.cname, cname)])])
  }

  /// - Parameter body: The packet behind its 4-byte header.
  package init(parsing body: ByteBuffer, chunkCount: Int) throws(ParsingError) {
    self.chunks = []
    var rest = body
    for _ in 0..<chunkCount {
      guard let ssrc = rest.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "SDES chunk") }
      var chunk = Chunk(ssrc: ssrc, items: [])
      while true {
        guard let kind = rest.readInteger(as: UInt8.self) else { throw ParsingError(.truncated, field: "SDES item") }
        if kind == 0 { break }
        guard let length = rest.readInteger(as: UInt8.self), let value = rest.readBytes(length: Int(length)) else {
          throw ParsingError(.truncated, field: "SDES item")
        }
        chunk.items.append(Item(Kind(rawValue: kind), value: value))
      }
      // The list of items is padded to 32 bits; the body's length is a multiple of 4 bytes.
      rest.moveReaderIndex(forwardBy: (body.writerIndex - rest.readerIndex) % 4)
      self.chunks.append(chunk)
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    for chunk in self.chunks {
      let start = buffer.writerIndex
      buffer.writeInteger(chunk.ssrc)
      for item in chunk.items {
        precondition(item.value.count <= 255 && item.kind.rawValue != 0, "a length has 8 bits, 0 is no kind")
        buffer.writeMultipleIntegers(item.kind.rawValue, UInt8(item.value.count))
        buffer.writeBytes(item.value)
      }
      // At least one zero byte ends the list.
      buffer.writeRepeatingByte(0, count: 4 - (buffer.writerIndex - start) % 4)
    }
  }
}

extension StringProtocol {
  /// The UTF-8 bytes of the text, truncated at a character boundary to `limit` bytes; RTCP lengths have 8 bits.
  func utf8Bytes(upTo limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in self.unicodeScalars {
      guard let encoded = UTF8.encode(scalar), bytes.count + encoded.count <= limit else { break }
      bytes.append(contentsOf: encoded)
    }
    return bytes
  }
}
