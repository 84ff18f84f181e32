package import Foundation
internal import Libc

/// One HTTP/1.1 request to a server on this machine, RFC 9112, on a connection of its own.
package struct LocalRequest {
  /// Status and body of a response.
  package struct Response: Equatable {
    package var status: Int
    package var body: Data

    /// Parses a response whose connection was closed behind it; nil when it is none or incomplete.
    package init?(parsing bytes: Data) {
      guard let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
      let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
      self.status = status
      self.body = bytes[end.upperBound...]
      for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
        let text = line.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
        guard let length = Int(text), length == self.body.count else { return nil }
      }
    }
  }

  /// Reasons why there is no response.
  enum Failure: Error, Equatable {
    /// No program listens at the port.
    case refused
    /// The connection failed, timed out, or delivered no response.
    case noResponse
  }

  /// Maximum time for the server to send anything, in seconds: a source takes up to 15 s to open, and as long to deliver.
  static let usualTimeout = 40
  /// Maximum size of a response in bytes.
  private static let maximumLength = 1 << 24

  var method = "GET"
  /// Path and query, percent-encoded.
  var path: String
  /// Bearer token; nil for none.
  var token: String?
  /// JSON, unless ``mediaType`` is another one; nil for no body.
  var body: Data?
  /// Type of the body, RFC 9110 §8.3.1.
  var mediaType = "application/json"
  /// Maximum time for the server to send anything, in seconds.
  var timeout = LocalRequest.usualTimeout

  /// The bytes of the request.
  func serialize(port: Int) -> Data {
    var lines = ["\(self.method) \(self.path) HTTP/1.1", "Host: localhost:\(port)", "Connection: close"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    if let body { lines += ["Content-Type: \(self.mediaType)", "Content-Length: \(body.count)"] }
    return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (self.body ?? Data())
  }

  /// Sends the request to a server on this machine, and waits for the response.
  func send(to address: ServerAddress) throws(Failure) -> Response {
    let descriptor = try self.connect(to: address)
    defer { close(descriptor) }
    let bytes = self.serialize(port: address.port)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { Self.send($0, to: descriptor) }
      guard count > 0 else { throw .noResponse }
      sent += count
    }
    var received = Data()
    var piece = [UInt8](repeating: 0, count: 65_536)
    while received.count < Self.maximumLength {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count >= 0 else { throw .noResponse }
      if count == 0 { break }
      received += piece[..<count]
    }
    guard let response = Response(parsing: received) else { throw .noResponse }
    return response
  }

  private static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    #if canImport(Darwin)
    Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
    #else
    Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
  }

  /// Connects to the server's address; without one to the loopback address, of IPv4 or IPv6.
  private func connect(to server: ServerAddress) throws(Failure) -> Int32 {
    var failure = Failure.noResponse
    for host in server.host.map({ [$0] }) ?? ["127.0.0.1", "::1"] {
      var hints = addrinfo()
      hints.ai_flags = AI_NUMERICHOST
      #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
      #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #endif
      var address: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, "\(server.port)", &hints, &address) == 0, let address else { continue }
      defer { freeaddrinfo(address) }
      let entry = address.pointee
      let descriptor = socket(entry.ai_family, entry.ai_socktype, 0)
      guard descriptor >= 0 else { continue }
      var limit = timeval(tv_sec: self.timeout, tv_usec: 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
      #if canImport(Darwin)
      let status = Darwin.connect(descriptor, entry.ai_addr, entry.ai_addrlen)
      #else
      let status = Glibc.connect(descriptor, entry.ai_addr, entry.ai_addrlen)
      #endif
      if status == 0 { return descriptor }
      if errno == ECONNREFUSED { failure = .refused }
      close(descriptor)
    }
    throw failure
  }
}
