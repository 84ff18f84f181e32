import Cryptography
import Foundation
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import HTTPServer

/// The other implementation of RFC 5280 that is in this program: BoringSSL in NIOSSL. For names only: under constraints of addresses it
/// refuses every certificate that has one.
extension LocalAuthorityTests {
  /// Whether BoringSSL, as a client that trusts an authority, accepts a server for a host.
  ///
  /// - Parameter server: The server's key and certificate in PEM.
  private static func doesBoringSSLAccept(_ server: String, of authority: String, host: String) throws -> Bool {
    var settings = TLSConfiguration.makeClientConfiguration()
    settings.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(authority.utf8), format: .pem)])
    let (near, far) = (EmbeddedChannel(), EmbeddedChannel())
    let client = try NIOSSLClientHandler(context: NIOSSLContext(configuration: settings), serverHostname: host)
    try near.pipeline.syncOperations.addHandler(client)
    let serverSettings = TLSConfiguration.makeServerConfiguration(
      certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(server.utf8), format: .pem))],
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(server.utf8), format: .pem)))
    let context = try NIOSSLContext(configuration: serverSettings)
    try far.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    far.connect(to: address, promise: nil)
    near.connect(to: address, promise: nil)
    // Sent after the handshake.
    let message = ByteBuffer(string: "a")
    near.writeAndFlush(message, promise: nil)
    do {
      var isBusy = true
      while isBusy {
        isBusy = false
        while let bytes = try near.readOutbound(as: ByteBuffer.self) {
          try far.writeInbound(bytes)
          isBusy = true
        }
        while let bytes = try far.readOutbound(as: ByteBuffer.self) {
          try near.writeInbound(bytes)
          isBusy = true
        }
      }
      return try far.readInbound(as: ByteBuffer.self) == message
    } catch {
      guard "\(error)".contains("CERTIFICATE_VERIFY_FAILED") else { throw error }
      return false
    }
  }

  @Test(arguments: [
    ("a.local", true), ("cam.example.net", true), ("alocal", false), ("example.com", false), ("com", false),
    ("local.example.com", false),
  ])
  func `BoringSSL follows the constraints of names as OpenSSL does`(
    host: String, isPermitted: Bool
  ) async throws {
    let authority = try LocalAuthority(for: Self.names, now: Date())
    let forged = try await OpenSSLCommand.forged("DNS:\(host)", by: authority.pem)
    #expect(try Self.doesBoringSSLAccept(forged, of: authority.certificate.pem, host: host) == isPermitted)
  }
}
