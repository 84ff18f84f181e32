import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import MediaInput

@Suite("Connections to link-local and metadata addresses", .timeLimit(.minutes(5)))
struct ConnectGuardTests {
  private static let refusal = "it leads to a link-local or metadata address, where cloud machines keep secrets"

  /// The error of opening a source whose connections are checked; nil when it opens.
  private static func error(_ url: String) throws -> VidiconError? {
    var specification = try NetworkSpecification(parsing: url)
    specification.allowsLinkLocal = false
    do throws(VidiconError) {
      _ = try NetworkSource(specification)
      return nil
    } catch {
      return error
    }
  }

  /// A server with one response for every request.
  private static func server(_ response: String) throws -> LocalServer {
    try LocalServer { connection in
      while !connection.readHead().isEmpty { connection.write(response) }
    }
  }

  @Test func `connections that libraries make are checked on this system`() {
    #expect(ConnectGuard.isEffective)
  }

  @Test func `connections over TCP that libraries make ask a silent peer for signs of life, others do not`() throws {
    let server = try LocalServer { $0.waitForEnd() }
    func connectedSocket() -> Int32 {
      let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      address.sin_port = in_port_t(server.port).bigEndian
      let status = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      #expect(status == 0)
      return number
    }
    func option(_ number: Int32, _ level: Int32, _ name: Int32) -> Int32 {
      var (value, length) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
      return getsockopt(number, level, name, &value, &length) == 0 ? value : -1
    }
    for isActive in [false, true] {
      let number = ConnectGuard.run(isActive: isActive) { connectedSocket() }.result
      defer { close(number) }
      #expect(option(number, SOL_SOCKET, SO_KEEPALIVE) == 1)
      #expect(option(number, Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 5)
      #expect(option(number, Int32(IPPROTO_TCP), TCP_KEEPINTVL) == 3)
      #expect(option(number, Int32(IPPROTO_TCP), TCP_KEEPCNT) == 3)
    }
    let other = connectedSocket()
    defer { close(other) }
    #expect(option(other, SOL_SOCKET, SO_KEEPALIVE) == 0)
  }

  @Test(arguments: [
    "http://169.254.169.254/x", "http://2852039166/x", "http://0xa9fea9fe/x", "http://0251.0376.0251.0376/x",
    "http://169.16689662/x", "https://169.254.1.1/x", "rtsp://169.254.169.254/x", "rtmp://169.254.169.254/a/b",
    "http://0.0.0.0:1/x", "http://0:1/x", "http://100.100.100.200/x", "http://168.63.129.16/x",
  ])
  func `numeric hosts are refused in every spelling that the system accepts`(url: String) throws {
    let error = try #require(try Self.error(url))
    #expect(error.code == .notPermitted && error.cause == Self.refusal)
  }

  @Test(arguments: ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
  func `HTTP redirections are refused`(status: String) throws {
    let server = try Self.server(
      "HTTP/1.1 \(status)\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n")
    #expect(try Self.error("http://127.0.0.1:\(server.port)/x")?.cause == Self.refusal)
  }

  @Test func `RTSP redirections are refused`() throws {
    let server = try Self.server(
      "RTSP/1.0 302 Moved Temporarily\r\nCSeq: 1\r\nLocation: rtsp://169.254.169.254:80/latest\r\n\r\n")
    #expect(try Self.error("rtsp://127.0.0.1:\(server.port)/x")?.cause == Self.refusal)
  }

  @Test(arguments: [
    "#EXTINF:4,\nhttp://169.254.169.254/a.ts", "#EXT-X-MAP:URI=\"http://169.254.169.254/i.mp4\"\n#EXTINF:4,\na.m4s",
    "#EXT-X-KEY:METHOD=AES-128,URI=\"http://169.254.169.254/key\"\n#EXTINF:4,\na.ts",
    "#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://169.254.169.254/b.m3u8",
  ])
  func `segments, keys and further playlists of HLS are refused`(entry: String) throws {
    let list = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n\(entry)\n#EXT-X-ENDLIST\n"
    let server = try Self.server("HTTP/1.1 200 OK\r\nContent-Length: \(list.utf8.count)\r\n\r\n\(list)")
    #expect(try Self.error("http://127.0.0.1:\(server.port)/x.m3u8")?.cause == Self.refusal)
  }

  @Test func `redirections and segments elsewhere are followed`() throws {
    _ = try NetworkSourceTests.segments()
    let files = try LocalServer.files(in: NetworkSourceTests.folder)
    let server = try Self.server(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(files.port)/hls.m3u8\r\nContent-Length: 0\r\n\r\n")
    #expect(try Self.error("http://localhost:\(server.port)/x") == nil)
  }

  /// Whether a UDP port of this machine is bound.
  private static func isBound(udpPort port: Int) throws -> Bool {
    let suffix = ":" + String(format: "%04X", port)
    return try String(systemFile: "/proc/net/udp").split(separator: "\n").contains { line in
      line.split(separator: " ").dropFirst().first?.hasSuffix(suffix) == true
    }
  }

  /// An even UDP port that is not bound, nor the next one, outside of those that the system assigns.
  private static func freePort() throws -> Int {
    let port = try stride(from: 25_678, to: 32_000, by: 2).first {
      try !self.isBound(udpPort: $0) && !self.isBound(udpPort: $0 + 1)
    }
    return try #require(port)
  }

  /// Whether opening an address whose response is a session description binds the UDP port of its track.
  private static func bindsPort(_ port: Int, allowing allowsSessionDescriptions: Bool) throws -> Bool {
    let text = [
      "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=x", "c=IN IP4 127.0.0.1", "t=0 0", "m=video \(port) RTP/AVP 96",
      "a=rtpmap:96 H264/90000", "",
    ].joined(separator: "\r\n")
    let server = try Self.server(
      "HTTP/1.1 200 OK\r\nContent-Type: application/sdp\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    var specification = try NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/x.sdp")
    specification.allowsSessionDescriptions = allowsSessionDescriptions
    let interrupt = LibavInterrupt()
    let isOpened = Mutex(false)
    let opening = Thread { [specification] in
      // Its result does not matter: no packet comes.
      _ = try? NetworkConnections.open(specification, interrupt: interrupt)
      isOpened.withLock { $0 = true }
    }
    opening.start()
    defer { interrupt.cancel() }
    let end = ContinuousClock.now + .seconds(300)
    while !isOpened.withLock({ $0 }), ContinuousClock.now < end {
      // A task that is suspended here might not continue before the port is closed again.
      if try Self.isBound(udpPort: port) { return true }
      sched_yield()
    }
    let hasEnded = isOpened.withLock { $0 }
    try #require(hasEnded, "the source is neither opened nor refused")
    return false
  }

  @Test func `a session description opens a port only where a source was not chosen over HTTP`() throws {
    #expect(try Self.bindsPort(Self.freePort(), allowing: true))
    #expect(try !Self.bindsPort(Self.freePort(), allowing: false))
  }
}
