import Foundation

/// Minimal RTSP client over a ``RawConnection``, RFC 2326.
final class RTSPDialogue {
  /// A reply.
  struct Reply {
    var status: Int
    /// Header fields in order of arrival.
    var headers: [(name: String, value: String)]
    var body: String

    func values(of name: String) -> [String] {
      self.headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
  }

  /// No reply, or an invalid one.
  struct Failure: Error {
    var what: String
  }

  let connection: RawConnection
  let url: String
  private var sequenceNumber = 0
  private var buffered: [UInt8] = []

  init(port: Int, path: String = "/live", receiveBuffer: Int32? = nil) throws {
    self.connection = try RawConnection(port: port, receiveBuffer: receiveBuffer)
    self.url = "rtsp://127.0.0.1:\(port)\(path)"
  }

  /// Sends a request and waits for its reply; interleaved packets before it are skipped.
  func ask(_ method: String, _ url: String? = nil, _ headers: [String] = []) throws -> Reply {
    self.sequenceNumber += 1
    let lines = ["\(method) \(url ?? self.url) RTSP/1.0", "CSeq: \(self.sequenceNumber)"] + headers + ["", ""]
    self.connection.send(lines.joined(separator: "\r\n"))
    return try self.reply()
  }

  /// Waits for a reply; interleaved packets before it are skipped.
  func reply(within limit: Duration = MachineShare.timeout(.seconds(5))) throws -> Reply {
    while self.buffered.first == UInt8(ascii: "$") {
      try self.fill(4, within: limit)
      let length = Int(self.buffered[2]) << 8 | Int(self.buffered[3])
      try self.fill(4 + length, within: limit)
      self.buffered.removeFirst(4 + length)
      try self.fill(1, within: limit)
    }
    let blankLine = Array("\r\n\r\n".utf8)
    var end = self.buffered.firstRange(of: blankLine)
    while end == nil {
      try self.fill(self.buffered.count + 1, within: limit)
      if self.buffered.first == UInt8(ascii: "$") { return try self.reply(within: limit) }
      end = self.buffered.firstRange(of: blankLine)
    }
    let head = String(decoding: self.buffered[..<end!.lowerBound], as: UTF8.self)
    self.buffered.removeFirst(end!.upperBound)
    var lines = head.components(separatedBy: "\r\n")
    let statusLine = lines.removeFirst().split(separator: " ")
    guard statusLine.count >= 2, statusLine[0] == "RTSP/1.0", let status = Int(statusLine[1]) else {
      throw Failure(what: "not a reply: \(head)")
    }
    let headers = lines.map { line in
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      return (name: parts[0], value: parts.count > 1 ? parts[1] : "")
    }
    var reply = Reply(status: status, headers: headers, body: "")
    let length = reply.values(of: "Content-Length").first.flatMap { Int($0) } ?? 0
    try self.fill(length, within: limit)
    reply.body = String(decoding: self.buffered[..<length], as: UTF8.self)
    self.buffered.removeFirst(length)
    return reply
  }

  /// Sends DESCRIBE, SETUP for each track (interleaved) and PLAY. Returns the reply to PLAY.
  func play() throws -> Reply {
    let description = try self.ask("DESCRIBE", nil, ["Accept: application/sdp"])
    let base = description.values(of: "Content-Base").first ?? self.url + "/"
    let tracks = description.body.components(separatedBy: "\r\n")
      .filter { $0.hasPrefix("a=control:") && !$0.hasSuffix("*") }
      .map { $0.dropFirst("a=control:".count) }
    guard !tracks.isEmpty else { throw Failure(what: "no track in \(description.body)") }
    var session: [String] = []
    for (index, track) in tracks.enumerated() {
      let url = track.hasPrefix("rtsp://") ? String(track) : base + track
      let channels = "\(index * 2)-\(index * 2 + 1)"
      let reply = try self.ask("SETUP", url, ["Transport: RTP/AVP/TCP;unicast;interleaved=\(channels)"] + session)
      guard reply.status == 200, let identifier = reply.values(of: "Session").first else {
        throw Failure(what: "SETUP: \(reply)")
      }
      session = ["Session: " + identifier.prefix { $0 != ";" }]
    }
    return try self.ask("PLAY", nil, session + ["Range: npt=0.000-"])
  }

  private func fill(_ count: Int, within limit: Duration) throws {
    while self.buffered.count < count {
      switch self.connection.receive(within: limit) {
      case .bytes(let bytes): self.buffered += bytes
      case .closed: throw Failure(what: "the connection was closed")
      case .nothing: throw Failure(what: "no reply within \(limit)")
      }
    }
  }
}
