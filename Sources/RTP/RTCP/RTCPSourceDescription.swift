internal import Media
internal import NIOCore

/// A source description (SDES), RFC 3550 §6.5: who the sources are.
public struct RTCPSourceDescription: Hashable, Sendable {
  /// One thing said of a source.
  public struct Item: Hashable, Sendable {
    /// What it says: 1 to 255.
    public var kind: Kind
    /// Its bytes, UTF-8 but for ``Kind/privateExtension``; at most 255.
    public var value: [UInt8]

    /// An item of text, cut to 255 bytes.
    public init(_ kind: Kind, _ text: String) {
      self.init(kind, value: text.utf8Bytes(upTo: 255))
    }

    /// An item of any bytes, at most 255.
    public init(_ kind: Kind, value: [UInt8]) {
      self.kind = kind
      self.value = value
    }

    /// A private extension (§6.5.8): a prefix that names who defined it, and a value; together cut to 254 bytes.
    public init(privatePrefix prefix: String, value: String) {
      let name = prefix.utf8Bytes(upTo: 254)
      self.init(.privateExtension, value: [UInt8(name.count)] + name + value.utf8Bytes(upTo: 254 - name.count))
    }

    /// The value as text; what is no UTF-8 is replaced.
    public var text: String {
      String(decoding: self.value, as: UTF8.self)
    }

    /// Prefix and value of a private extension; nil for other kinds, or when its length is wrong.
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

  /// What an item says.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// The number of §12.2.
    public var rawValue: UInt8

    /// A kind by its number; 0 is none, it ends the list.
    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// The canonical name, the same for all tracks of one source: players tie sound to picture by it.
    public static let cname = Self(rawValue: 1)
    /// The user's name.
    public static let name = Self(rawValue: 2)
    /// The user's e-mail address.
    public static let email = Self(rawValue: 3)
    /// The user's telephone number.
    public static let phone = Self(rawValue: 4)
    /// Where the user is.
    public static let location = Self(rawValue: 5)
    /// The program that makes the stream.
    public static let tool = Self(rawValue: 6)
    /// A message of the moment.
    public static let note = Self(rawValue: 7)
    /// An extension of somebody's own.
    public static let privateExtension = Self(rawValue: 8)
  }

  /// What is said of one source.
  public struct Chunk: Hashable, Sendable {
    /// The source.
    public var ssrc: UInt32
    /// What is said of it.
    public var items: [Item]

    /// A chunk.
    public init(ssrc: UInt32, items: [Item]) {
      self.ssrc = ssrc
      self.items = items
    }
  }

  /// The sources, at most 31.
  public var chunks: [Chunk]

  /// A description.
  public init(chunks: [Chunk]) {
    self.chunks = chunks
  }

  /// The one item that every compound packet must have, for one source.
  public init(ssrc: UInt32, cname: String) {
    self.init(chunks: [Chunk(ssrc: ssrc, items: [Item(.cname, cname)])])
  }

  /// - Parameter body: What follows the packet's first 4 bytes.
  init(parsing body: ByteBuffer, chunkCount: Int) throws(ParsingError) {
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
      // The list's end is filled up to 32 bits; the body's length is a multiple of them.
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
