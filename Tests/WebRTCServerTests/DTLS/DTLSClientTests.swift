import Foundation
import NIOCore
import TestSupport
import Testing
import WebRTC
import WebRTCServer

/// `openssl s_client` and `openssl s_server` as the peer, on the loopback interface.
@Suite("DTLS with OpenSSL's own client and server")
struct DTLSClientTests {
  @Test(arguments: [
    ("SRTP_AEAD_AES_128_GCM", SRTPProfile.aeadAES128GCM), ("SRTP_AES128_CM_SHA1_80", .aes128CMSHA1),
    ("SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM", .aeadAES128GCM),
  ])
  func `the client exports the same keys`(offered: String, profile: SRTPProfile) throws {
    let security = try #require(OpenSSLSecurity())
    let own = try Certificate(of: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    defer { own.remove() }

    let socket = try LoopbackSocket()
    let client = Process()
    let output = Pipe()
    client.executableURL = URL(filePath: "/usr/bin/env")
    client.arguments = [
      "openssl", "s_client", "-dtls1_2", "-connect", "127.0.0.1:\(socket.port)", "-use_srtp", offered, "-cert",
      own.certificate, "-key", own.key, "-keymatexport", "EXTRACTOR-dtls_srtp", "-keymatexportlen",
      "\(profile.exportedLength)",
    ]
    client.standardInput = Pipe()
    client.standardOutput = output
    client.standardError = FileHandle.nullDevice
    try client.run()
    defer { if client.isRunning { client.terminate() } }

    let endpoint = try #require(security.makeEndpoint(role: .server, timeout: DTLSTransport.timeout(roundTrip: nil)))
    var transport = DTLSTransport(endpoint: endpoint)
    while transport.state == .handshaking {
      let datagram = try #require(socket.receive(), "the client sends nothing")
      for answer in transport.receive(ByteBuffer(bytes: datagram), at: DTLSPair.now) { socket.reply(answer) }
    }
    #expect(transport.state == .connected)
    let keys = try #require(transport.keys(peer: [own.fingerprint]))
    #expect(keys.profile == profile)
    // The client ends when the server does.
    for answer in transport.close() { socket.reply(answer) }
    let text = String(decoding: client.finish(reading: output), as: UTF8.self)
    let exported = try #require(endpoint.exportKeys(length: profile.exportedLength) ?? Self.material(in: text))
    #expect(Self.material(in: text) == exported)
    #expect(
      text.contains(
        "SRTP Extension negotiated, profile=\(profile == .aeadAES128GCM ? "SRTP_AEAD_AES_128_GCM" : "SRTP_AES128_CM_SHA1_80")"
      ))
    let pair = try #require(SRTPMasterKey.pair(exported: exported, profile: profile))
    #expect(pair.client == keys.client && pair.server == keys.server)
  }

  /// A server that is pushed to may have a certificate of RSA, for which there are cipher suites of their own.
  @Test func `a server with a certificate of RSA is connected to`() throws {
    let security = try #require(OpenSSLSecurity())
    let own = try Certificate(of: ["rsa:2048"])
    defer { own.remove() }
    let server = Process()
    let output = Pipe()
    server.executableURL = URL(filePath: "/usr/bin/env")
    server.arguments = [
      "openssl", "s_server", "-dtls1_2", "-accept", "127.0.0.1:0", "-mtu", "1200", "-use_srtp", "SRTP_AEAD_AES_128_GCM",
      "-cert", own.certificate, "-key", own.key,
    ]
    server.standardInput = Pipe()
    server.standardOutput = output
    server.standardError = FileHandle.nullDevice
    try server.run()
    defer { if server.isRunning { server.terminate() } }

    let port: UInt16 = try #require(Self.port(output.fileHandleForReading))
    let socket = try LoopbackSocket(to: port)
    let endpoint = try #require(security.makeEndpoint(role: .client, timeout: DTLSTransport.timeout(roundTrip: nil)))
    var transport = DTLSTransport(endpoint: endpoint)
    var datagrams = transport.start(at: DTLSPair.now)
    while true {
      for datagram in datagrams { socket.reply(datagram) }
      guard transport.state == .handshaking else { break }
      let answer = try #require(socket.receive(), "the server sends nothing")
      datagrams = transport.receive(ByteBuffer(bytes: answer), at: DTLSPair.now)
    }
    #expect(transport.state == .connected)
    let keys = try #require(transport.keys(peer: [own.fingerprint]))
    #expect(keys.profile == .aeadAES128GCM)
  }

  /// The port in the server's line "ACCEPT 127.0.0.1:12345"; nil when it does not come within five minutes.
  private static func port(_ output: FileHandle) -> UInt16? {
    var text = ""
    while true {
      var interest = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&interest, 1, 300_000) == 1 else { return nil }
      let bytes = output.availableData
      guard !bytes.isEmpty else { return nil }
      text += String(decoding: bytes, as: UTF8.self)
      if let match = text.firstMatch(of: /ACCEPT .*:([0-9]+)\n/) { return UInt16(match.1) }
    }
  }

  /// The line "Keying material: 0123AB…" of the client.
  private static func material(in text: String) -> [UInt8]? {
    text.firstMatch(of: /Keying material: ([0-9A-F]+)/).map { bytes(String($0.1)) }
  }

  /// A self-signed certificate in a folder of its own.
  private struct Certificate {
    let certificate: String
    let key: String
    let fingerprint: CertificateFingerprint
    private let folder: URL

    /// - Parameter kind: The key, as `openssl req -newkey` has it.
    init(of kind: [String]) throws {
      self.folder = FileManager.default.temporaryDirectory.appending(path: "dtls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
      self.certificate = self.folder.appending(path: "c.pem").path
      self.key = self.folder.appending(path: "k.pem").path
      _ = try DTLSClientTests.openssl(
        ["req", "-x509", "-newkey"] + kind
          + ["-nodes", "-subj", "/CN=peer", "-days", "1", "-keyout", self.key, "-out", self.certificate])
      let line = try DTLSClientTests.openssl(["x509", "-in", self.certificate, "-noout", "-fingerprint", "-sha256"])
      let digest = try #require(line.split(separator: "=").last).trimmingCharacters(in: .whitespacesAndNewlines)
      self.fingerprint = try CertificateFingerprint(parsing: "sha-256 \(digest)")
    }

    func remove() {
      try? FileManager.default.removeItem(at: self.folder)
    }
  }

  private static func openssl(_ arguments: [String]) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: process.finish(reading: output), as: UTF8.self)
    #expect(process.terminationStatus == 0)
    return text
  }
}

/// A UDP socket on 127.0.0.1 that answers the last sender, or begins with a server.
private final class LoopbackSocket {
  private let descriptor: Int32
  private var peer = sockaddr_in()
  let port: UInt16

  struct Failure: Error {}

  /// - Parameter peerPort: The peer's, where that is a server.
  init(to peerPort: UInt16? = nil) throws {
    self.descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = self.descriptor
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    self.port = UInt16(bigEndian: address.sin_port)
    guard result == 0 else { throw Failure() }
    if let peerPort {
      self.peer = address
      self.peer.sin_port = peerPort.bigEndian
    }
  }

  deinit {
    close(self.descriptor)
  }

  /// The next datagram; nil after five minutes, which no busy machine needs to start the client.
  func receive() -> [UInt8]? {
    var interest = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&interest, 1, 300_000) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 2048)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &self.peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(self.descriptor, &bytes, 2048, 0, $0, &length) }
    }
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  func reply(_ bytes: [UInt8]) {
    let count = withUnsafePointer(to: self.peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(self.descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    precondition(count == bytes.count, "the loopback interface takes every datagram")
  }
}
