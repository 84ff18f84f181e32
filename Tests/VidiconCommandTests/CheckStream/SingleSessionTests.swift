import Foundation
import Media
import MediaInput
import Synchronization
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Check of a camera with one session", .timeLimit(.minutes(5)))
struct SingleSessionTests {
  /// An RTSP server with one session at a time, which sends nothing.
  private final class Camera: Sendable {
    private struct State {
      /// Socket of the connection that has the session.
      var owner: Int32?
      /// `Transport` of each SETUP, in their order.
      var transports: [String] = []
    }

    private let state = Mutex(State())
    private let evicts: Bool

    /// - Parameter evicts: Whether a second session ends the first one, instead of being refused.
    init(evicts: Bool) { self.evicts = evicts }

    var transports: [String] { self.state.withLock { $0.transports } }

    /// Responds to the requests of a connection up to its end.
    func serve(_ connection: LocalServer.Connection) {
      defer {
        self.state.withLock { state in
          if state.owner == connection.socket { state.owner = nil }
        }
      }
      while true {
        let lines = connection.readHead().components(separatedBy: "\r\n")
        guard let method = lines[0].split(separator: " ").first else { return }
        func value(_ name: String) -> String {
          lines.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) } ?? ""
        }
        var (status, headers, body) = ("200 OK", "CSeq: \(value("CSeq"))\r\n", "")
        switch method {
        case "DESCRIBE":
          body =
            "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
          headers += "Content-Type: application/sdp\r\nContent-Length: \(body.utf8.count)\r\n"
        case "SETUP":
          if self.admit(connection.socket, value("Transport")) {
            headers += "Session: s\r\nTransport: \(value("Transport"))\r\n"
          } else {
            status = "453 Not Enough Bandwidth"
          }
        default: break
        }
        connection.write("RTSP/1.0 \(status)\r\n\(headers)\r\n\(body)")
        if method == "TEARDOWN" { return }
      }
    }

    /// Whether a connection gets the session.
    private func admit(_ socket: Int32, _ transport: String) -> Bool {
      self.state.withLock { state in
        state.transports.append(transport)
        if let owner = state.owner {
          guard self.evicts else { return false }
          shutdown(owner, Int32(SHUT_RDWR))
        }
        state.owner = socket
        return true
      }
    }
  }

  private static func verdict(of camera: Camera) async throws -> StreamVerdict {
    let server = try LocalServer { camera.serve($0) }
    defer { server.stop() }
    var limits = StreamCheck.Limits()
    (limits.whole, limits.play, limits.datagrams) = (.seconds(300), .seconds(2), .seconds(1))
    let url = "rtsp://127.0.0.1:\(server.port)/live"
    return try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
  }

  @Test func `the session over TCP comes first, and its play is not disturbed by that over UDP`() async throws {
    let camera = Camera(evicts: false)
    let verdict = try await Self.verdict(of: camera)
    #expect(verdict.observations.contains { $0.hasPrefix("PLAY 200") }, "\(verdict)")
    #expect(verdict.observations.contains("datagrams unknown") && !verdict.problems.contains { $0.contains("453") })
    let transports = camera.transports
    #expect(transports.count == 2 && transports[0].hasPrefix("RTP/AVP/TCP"), "\(transports)")
    #expect(transports.last?.contains("client_port=") == true, "\(transports)")
  }

  @Test func `a session that the camera ends for the one over UDP is played again`() async throws {
    let camera = Camera(evicts: true)
    let verdict = try await Self.verdict(of: camera)
    #expect(!verdict.problems.contains { $0.hasPrefix("fault session") }, "\(verdict)")
    #expect(camera.transports.map { $0.contains("client_port=") } == [false, true, false])
  }
}
