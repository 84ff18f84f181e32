/// A system call on a file of a ``FaultyDisk``, from its journal.
public struct DiskCall: Sendable {
  /// The system call; raw values are those of the library.
  public enum Kind: UInt32, Sendable {
    /// `open(2)` that creates the file.
    case create = 1
    /// Any call that writes bytes.
    case write, truncate
    /// `fdatasync(2)` or `fsync(2)` of a file.
    case synchronize
    /// `fsync(2)` of a folder.
    case synchronizeFolder
    case rename, link, unlink
    /// `mkdir(2)`.
    case makeFolder
    case read
    /// `open(2)` that creates nothing.
    case open
  }

  /// The journal ends within an entry, or has an unknown one.
  public struct Malformed: Error {}

  /// The system call that the journal names.
  public var kind: Kind
  /// Value of `errno`; 0 when the call succeeded.
  public var error: UInt32
  /// Inode of the file; 0 for calls on names.
  public var inode: UInt64
  /// Offset of a write or read, or new length of a truncation, in bytes.
  public var offset: Int
  /// The bytes that were written.
  public var data: [UInt8]
  /// The file, or the name before a change.
  public var path: String
  /// The name after a change.
  public var otherPath: String

  /// Name of the call in the names of folders that select a fault; nil for calls that are not made to fail in turn.
  public var faultName: String? {
    switch self.kind {
    case .create: "create"
    case .write: "write"
    case .truncate: "truncate"
    case .synchronize, .synchronizeFolder: "sync"
    case .rename: "rename"
    case .read: "read"
    case .link, .unlink, .makeFolder, .open: nil
    }
  }

  static func parse(_ bytes: [UInt8]) throws(Malformed) -> [DiskCall] {
    var calls: [DiskCall] = []
    var rest = bytes[...]
    func integer<Integer: FixedWidthInteger>(_: Integer.Type) throws(Malformed) -> Integer {
      let bytes = rest.prefix(Integer.bitWidth / 8)
      guard bytes.count == Integer.bitWidth / 8 else { throw Malformed() }
      rest = rest.dropFirst(bytes.count)
      // The journal has the byte order of the machine.
      return Integer(littleEndian: bytes.reversed().reduce(0) { $0 << 8 | Integer(truncatingIfNeeded: $1) })
    }
    func take(_ count: Int) throws(Malformed) -> [UInt8] {
      guard rest.count >= count else { throw Malformed() }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    while !rest.isEmpty {
      guard let kind = try Kind(rawValue: integer(UInt32.self)) else { throw Malformed() }
      let error = try integer(UInt32.self)
      let (inode, offset) = (try integer(UInt64.self), try integer(UInt64.self))
      let length = Int(try integer(UInt64.self))
      let (pathLength, otherLength) = (Int(try integer(UInt32.self)), Int(try integer(UInt32.self)))
      let path = String(decoding: try take(pathLength), as: UTF8.self)
      let other = String(decoding: try take(otherLength), as: UTF8.self)
      calls.append(
        DiskCall(
          kind: kind, error: error, inode: inode, offset: Int(truncatingIfNeeded: offset), data: try take(length),
          path: path, otherPath: other))
    }
    return calls
  }
}
