#if os(Linux)
internal import CXCB
internal import Libc
internal import Synchronization

/// Credentials for an X server: the cookie in the file that `XAUTHORITY` names.
struct X11Authority: Hashable, Sendable {
  /// `MIT-MAGIC-COOKIE-1`, or empty.
  let name: [UInt8]
  /// The cookie, or empty.
  let data: [UInt8]

  private static let kind = Array("MIT-MAGIC-COOKIE-1".utf8)
  /// Serializes calls of libXau, which keeps the file name in a static variable.
  private static let reading = Mutex(())

  /// The credentials for a display that a connected socket reaches; empty when the file has none.
  init(of display: X11Display, socket: Int32) {
    let (family, address) = Self.address(socket)
    let number = Array("\(display.number)".utf8)
    let found = Self.reading.withLock { _ -> (name: [UInt8], data: [UInt8])? in
      Self.find(family: family, address: address, number: number)
    }
    self.name = found?.name ?? []
    self.data = found?.data ?? []
  }

  private static func find(family: Int32, address: [UInt8], number: [UInt8]) -> (name: [UInt8], data: [UInt8])? {
    var kind = Self.kind.map { CChar(truncatingIfNeeded: $0) }
    let entry = kind.withUnsafeMutableBufferPointer { kind in
      var names: [UnsafeMutablePointer<CChar>?] = [kind.baseAddress]
      var lengths = [Int32(kind.count)]
      return address.withUnsafeBytes { address in
        number.withUnsafeBytes { number in
          XauGetBestAuthByAddr(
            .init(family), .init(address.count), address.baseAddress?.assumingMemoryBound(to: CChar.self),
            .init(number.count), number.baseAddress?.assumingMemoryBound(to: CChar.self), 1, &names, &lengths)
        }
      }
    }
    guard let entry else { return nil }
    defer { XauDisposeAuth(entry) }
    func bytes(_ start: UnsafeMutablePointer<CChar>?, _ count: UInt16) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(count)))
    }
    return (bytes(entry.pointee.name, entry.pointee.name_length), bytes(entry.pointee.data, entry.pointee.data_length))
  }

  /// Family and address of the peer as in the file: the host name for this machine, also when reached as `localhost`.
  private static func address(_ socket: Int32) -> (family: Int32, address: [UInt8]) {
    var peer = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(socket, $0, &length) }
    }
    let bytes = withUnsafeBytes(of: &peer) { Array($0) }
    switch (status, Int32(peer.ss_family)) {
    case (0, AF_INET) where bytes[4] != 127: return (Int32(XCB_FAMILY_INTERNET.rawValue), Array(bytes[4..<8]))
    case (0, AF_INET6):
      let address = Array(bytes[8..<24])
      let isMapped = address.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
      if isMapped, address[12] != 127 { return (Int32(XCB_FAMILY_INTERNET.rawValue), Array(address[12...])) }
      if !isMapped, address != Array(repeating: 0, count: 15) + [1] {
        return (Int32(XCB_FAMILY_INTERNET_6.rawValue), address)
      }
    default: break
    }
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    return (FamilyLocal, name.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) })
  }
}
#endif
