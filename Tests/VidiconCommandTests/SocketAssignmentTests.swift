import Authentication
import Serving
import Testing

@testable import VidiconCommand

@Suite("Sockets of a service manager, and the servers that take them")
struct SocketAssignmentTests {
  private static let choices: [ListeningSockets.Role: PortChoice] = [
    .rtsp: PortChoice(8554, alternatives: [8555, 0]), .http: PortChoice(8080), .webRTC: PortChoice(8189),
    .webRTCOverTCP: PortChoice(8189),
  ]

  private static func socket(
    _ name: String, _ port: Int, datagram: Bool = false, address: String = "::"
  ) -> PassedSocket {
    // Safe because the addresses of this suite are well formed.
    let address = IPAddress(parsing: address)!
    return PassedSocket(descriptor: Int32(port), name: name, isDatagram: datagram, address: address, port: port)
  }

  private func assign(
    _ sockets: [PassedSocket], addresses: [String] = ["::"], free: [Int] = []
  ) -> SocketAssignment {
    SocketAssignment(
      sockets, choices: Self.choices, addresses: addresses.compactMap { IPAddress(parsing: $0) },
      isFree: { free.contains($1) })
  }

  @Test func `sockets of an earlier run are taken without a word, where the configuration asks for the same`() {
    let sockets = [
      Self.socket("vidicon.http.8080", 8080), Self.socket("vidicon.webrtc.8189", 8189, datagram: true),
      Self.socket("vidicon.webrtc-tcp.8189", 8189),
    ]
    let assignment = self.assign(sockets)
    #expect(assignment.sockets == [.http: sockets[0], .webRTC: sockets[1], .webRTCOverTCP: sockets[2]])
    #expect(assignment.unused == [] && assignment.lines == [])
  }

  @Test func `a port in place of a default one stays while that is in use, and is said`() {
    let socket = Self.socket("vidicon.rtsp.8554", 8555)
    #expect(self.assign([socket], free: [8554]).unused == [socket])
    #expect(self.assign([socket]).sockets == [.rtsp: socket])
    #expect(self.assign([socket]).lines == ["RTSP stays on port 8555, as before the restart"])
  }

  @Test func `the configuration decides about sockets of an earlier run`() {
    for socket in [
      Self.socket("vidicon.http.8081", 8081),  // another port was asked for
      Self.socket("vidicon.http.8080", 8081),  // one that the configuration does not allow any more
      Self.socket("vidicon.http.8080", 8080, address: "127.0.0.1"),  // another address
      Self.socket("vidicon.http.8080", 8080, datagram: true), Self.socket("vidicon.rtmp.1935", 1935),
      Self.socket("vidicon.webrtc-tcp.8189", 8189),  // without that of UDP
    ] {
      let assignment = self.assign([socket])
      #expect(assignment.sockets == [:] && assignment.unused == [socket] && assignment.lines == [], "\(socket.name)")
    }
    let local = Self.socket("vidicon.http.8080", 8080, address: "127.0.0.1")
    #expect(self.assign([local], addresses: ["127.0.0.1"]).sockets == [.http: local])
    #expect(self.assign([Self.socket("vidicon.http.8080", 8080)], addresses: ["127.0.0.1"]).sockets == [:])
    // All addresses, of a run before the machine had one of IPv6.
    #expect(self.assign([Self.socket("vidicon.http.8080", 8080, address: "0.0.0.0")]).sockets == [:])
  }

  @Test func `a socket of a unit is found by its name, whose port decides, or by its port`() {
    let (named, plain) = (Self.socket("http", 80), Self.socket("vidicon.socket", 8554, address: "192.0.2.7"))
    let assignment = self.assign([named, plain])
    #expect(assignment.sockets == [.http: named, .rtsp: plain] && assignment.unused == [])
    #expect(
      assignment.lines == [
        "HTTP is served on port 80, that of the service manager's socket, and not on 8080",
        "RTSP is served at the address 192.0.2.7, that of the service manager's socket, and not at ::",
      ])
  }

  @Test func `a socket of a unit that opens more than the configuration asks for is said, and no longer local`() {
    let (local, open) = (Self.socket("http", 8080, address: "127.0.0.1"), Self.socket("rtsp", 8554))
    #expect(self.assign([local], addresses: ["127.0.0.1"]).isLocal)
    let assignment = self.assign([local, open], addresses: ["127.0.0.1"])
    #expect(!assignment.isLocal && assignment.lines.count == 1)
    #expect(assignment.lines.first?.contains("RTSP is served at the address ::") == true)
  }

  @Test func `a socket with the name of a server that is off is used by no other`() {
    let socket = Self.socket("https", 8080)
    let assignment = self.assign([socket])
    #expect(assignment.sockets == [:] && assignment.unused == [socket] && assignment.lines.count == 1)
  }

  @Test func `a socket of a unit that no server uses is a line`() {
    let socket = Self.socket("unknown", 9000)
    let assignment = self.assign([socket])
    #expect(assignment.sockets == [:] && assignment.unused == [socket])
    #expect(assignment.lines.count == 1)
    #expect(assignment.lines.first?.hasPrefix("the socket \"unknown\" of the service manager, TCP port 9000: ") == true)
  }

  @Test func `of two sockets for one server the second is not used`() {
    let sockets = [Self.socket("http", 80), Self.socket("http", 81)]
    let assignment = self.assign(sockets)
    #expect(assignment.sockets == [.http: sockets[0]] && assignment.unused == [sockets[1]])
  }
}
