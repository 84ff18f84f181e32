import Foundation

/// A persistent HTTP/1.1 connection that sends requests and receives responses separately.
///
/// Calls block their thread, up to their time limit.
final class HTTPConnection {
  /// A response.
  struct Answer: Sendable {
    var status: Int
    /// Header fields, names in lower case.
    var fields: [String: String]
    var body: [UInt8]
    /// Time of arrival of the last byte.
    var instant: ContinuousClock.Instant

    var text: String { String(decoding: self.body, as: UTF8.self) }
  }

  /// No response, or an invalid one.
  struct Failure: Error {
    var what: String
  }

  private let connection: RawConnection
  private var received: [UInt8] = []
  private var path = ""

  /// Connects to a port of the loopback address.
  init(port: Int) throws {
    self.connection = try RawConnection(port: port)
  }

  /// Sends a GET request; ``answer(within:)`` receives the response.
  func send(_ path: String) {
    self.path = path
    self.connection.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
  }

  /// Waits for the response to the last request.
  func answer(within limit: Duration = MachineShare.timeout(.seconds(10))) throws -> Answer {
    let end = ContinuousClock.now + limit
    var head: [String]?
    while true {
      if head == nil, let length = Self.headLength(self.received) {
        let text = String(decoding: self.received[..<length], as: UTF8.self)
        head = text.replacingOccurrences(of: "\r", with: "").split(separator: "\n").map(String.init)
        self.received.removeFirst(length)
      }
      if let head {
        let fields = Self.fields(head.dropFirst())
        guard let length = fields["content-length"].flatMap({ Int($0) }) else {
          throw Failure(what: "\(self.path): no Content-Length in \(head)")
        }
        if self.received.count >= length {
          let body = Array(self.received[..<length])
          self.received.removeFirst(length)
          let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
          return Answer(status: status ?? 0, fields: fields, body: body, instant: .now)
        }
      }
      guard case .bytes(let bytes) = self.connection.receive(within: max(.zero, end - .now)) else {
        throw Failure(what: "\(self.path): closed, or no response within \(limit)")
      }
      self.received += bytes
    }
  }

  /// Sends a GET request and waits for the response.
  func get(_ path: String) throws -> Answer {
    self.send(path)
    return try self.answer()
  }

  /// Throws when the server sends unrequested bytes or closes the connection within a time.
  func expectNothing(for time: Duration) throws {
    guard self.received.isEmpty, self.connection.receive(within: time) == .nothing else {
      throw Failure(what: "\(self.path): unrequested bytes, or closed, after the response")
    }
  }

  private static func headLength(_ bytes: [UInt8]) -> Int? {
    Data(bytes).range(of: Data("\r\n\r\n".utf8)).map(\.upperBound)
  }

  private static func fields(_ lines: ArraySlice<String>) -> [String: String] {
    var fields: [String: String] = [:]
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return fields
  }
}
