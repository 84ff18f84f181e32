import Foundation
import NIOCore
import TestSupport
import Testing
import WebRTC
import WebRTCServer

/// `openssl s_client` as the peer, on the loopback interface.
@Suite("DTLS with OpenSSL's own client")
struct DTLSClientTests {
  @Test(arguments: [
    ("SRTP_AEAD_AES_128_GCM", SRTPProfile.aeadAES128GCM), ("SRTP_AES128_CM_SHA1_80", .aes128CMSHA1),
    ("SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM", .aeadAES128GCM),
  ])
  func `the client exports the same keys`(offered: String, profile: SRTPProfile) throws {
    let security = try #require(OpenSSLSecurity())
    let folder = FileManager.default.temporaryDirectory.appending(path: "dtls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (certificate, key) = (folder.appending(path: "c.pem").path, folder.appending(path: "k.pem").path)
    _ = try Self.openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=client", "-days",
      "1", "-keyout", key, "-out", certificate,
    ])
    let line = try Self.openssl(["x509", "-in", certificate, "-noout", "-fingerprint", "-sha256"])
    let digest = try #require(line.split(separator: "=").last).trimmingCharacters(in: .whitespacesAndNewlines)
    let fingerprint = try CertificateFingerprint(parsing: "sha-256 \(digest)")

    let socket = try LoopbackSocket()
    let client = Process()
    let output = Pipe()
    client.executableURL = URL(filePath: "/usr/bin/env")
    client.arguments = [
      "openssl", "s_client", "-dtls1_2", "-connect", "127.0.0.1:\(socket.port)", "-use_srtp", offered, "-cert",
      certificate, "-key", key, "-keymatexport", "EXTRACTOR-dtls_srtp", "-keymatexportlen", "\(profile.exportedLength)",
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
    let keys = try #require(transport.keys(peer: [fingerprint]))
    #expect(keys.profile == profile)
    // The client ends when the server does.
    for answer in transport.close() { socket.reply(answer) }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    client.waitUntilExit()
    let exported = try #require(endpoint.exportKeys(length: profile.exportedLength) ?? Self.material(in: text))
    #expect(Self.material(in: text) == exported)
    #expect(
      text.contains(
        "SRTP Extension negotiated, profile=\(profile == .aeadAES128GCM ? "SRTP_AEAD_AES_128_GCM" : "SRTP_AES128_CM_SHA1_80")"
      ))
    let pair = try #require(SRTPMasterKey.pair(exported: exported, profile: profile))
    #expect(pair.client == keys.client && pair.server == keys.server)
  }

  /// The line "Keying material: 0123AB…" of the client.
  private static func material(in text: String) -> [UInt8]? {
    text.firstMatch(of: /Keying material: ([0-9A-F]+)/).map { bytes(String($0.1)) }
  }

  private static func openssl(_ arguments: [String]) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return text
  }
}

/// A UDP socket on 127.0.0.1 that answers the last sender.
private final class LoopbackSocket {
  private let descriptor: Int32
  private var peer = sockaddr_in()
  let port: UInt16

  struct Failure: Error {}

  init() throws {
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
