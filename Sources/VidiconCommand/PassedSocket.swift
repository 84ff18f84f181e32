import Authentication
import Foundation
import Libc

/// A socket of IP that a service manager passes, bound to an address.
struct PassedSocket: Hashable {
  var descriptor: Int32
  /// Name that its unit, or an earlier run, has given it.
  var name: String
  /// Whether it is a socket of UDP, and not of TCP.
  var isDatagram: Bool
  /// Address to which it is bound.
  var address: IPAddress
  /// Port to which it is bound.
  var port: Int

  /// Creates a socket of known properties.
  init(descriptor: Int32, name: String, isDatagram: Bool, address: IPAddress, port: Int) {
    self.descriptor = descriptor
    self.name = name
    self.isDatagram = isDatagram
    self.address = address
    self.port = port
  }

  /// Reads the properties of a descriptor; nil for one that is no socket of TCP or UDP with a port, or is a connection.
  init?(_ descriptor: ListenDescriptors.Descriptor) {
    var type: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor.number, SOL_SOCKET, SO_TYPE, &type, &length) == 0 else { return nil }
    #if canImport(Darwin)
    let (stream, datagram) = (SOCK_STREAM, SOCK_DGRAM)
    #else
    let (stream, datagram) = (Int32(SOCK_STREAM.rawValue), Int32(SOCK_DGRAM.rawValue))
    #endif
    guard type == stream || type == datagram, !Self.isConnected(descriptor.number),
      let bound = Self.boundAddress(of: descriptor.number)
    else { return nil }
    self.init(
      descriptor: descriptor.number, name: descriptor.name, isDatagram: type == datagram, address: bound.address,
      port: bound.port)
  }

  /// Whether a socket has a peer, as that of a unit with `Accept=yes` does.
  private static func isConnected(_ descriptor: Int32) -> Bool {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
    }
  }

  private static func boundAddress(of descriptor: Int32) -> (address: IPAddress, port: Int)? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var (host, service) = ([CChar](repeating: 0, count: 256), [CChar](repeating: 0, count: 32))
    let hasName = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { (address: UnsafeMutablePointer<sockaddr>) -> Bool in
        guard getsockname(descriptor, address, &length) == 0,
          [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family))
        else { return false }
        return getnameinfo(
          address, length, &host, socklen_t(host.count), &service, socklen_t(service.count),
          NI_NUMERICHOST | NI_NUMERICSERV) == 0
      }
    }
    guard hasName, let address = IPAddress(parsing: Self.text(host)), let port = Int(Self.text(service)), port > 0
    else { return nil }
    return (address, port)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
  }
}
