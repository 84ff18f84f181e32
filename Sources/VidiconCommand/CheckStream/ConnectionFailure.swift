import Libc
import NIOCore
import NIOPosix
import NIOSSL
import Serving

/// Reasons why there is no connection to a server, or no response over one.
enum ConnectionFailure: Error, Equatable, Sendable {
  /// Reasons for which a redirect is not followed.
  enum Redirect: Error, Equatable, Sendable {
    /// `Location` is missing, or no address of the protocol.
    case invalid
    /// From TLS to none.
    case insecure
    /// Behind others, as in a circle.
    case tooMany
  }

  case unknownHost
  case refused
  case unreachable
  case timedOut
  /// The server accepts the connection, and does not respond.
  case noResponse
  /// The server does not speak TLS at this port.
  case notTLS
  /// The server accepts the connection, and does not respond to the first message of TLS.
  case silentTLS
  /// The server speaks TLS at this port, at which the scheme, as `rtsps`, is the right one.
  case isTLS(String)
  /// The certificate of the server is not trusted, or of another name or time.
  case untrusted
  /// TLS ends with an alert, as without a common version.
  case handshake
  /// The server does not speak HTTP at this port.
  case notHTTP
  /// The server closes the connection before its first response.
  case closed
  /// The server redirects with a status of HTTP.
  case redirect(Int, Redirect)
  /// An address within the stream is none that can be requested.
  case invalidAddress
  /// Another failure, in words.
  case other(String)

  init(_ error: any Error) {
    switch error {
    case let failure as ConnectionFailure: self = failure
    case let error as NIOConnectionError:
      self = Self.decisive(of: error.connectionErrors.map { ConnectionFailure($0.error) }) ?? .unknownHost
    case ChannelError.connectTimeout: self = .timedOut
    case let error as IOError:
      switch error.errnoCode {
      case ECONNREFUSED: self = .refused
      case EHOSTUNREACH, ENETUNREACH: self = .unreachable
      case ETIMEDOUT: self = .timedOut
      case ECONNRESET, EPIPE: self = .closed
      default: self = .other(PushFailure.text(of: error))
      }
    case NIOSSLError.uncleanShutdown: self = .closed
    case let error as NIOSSLError: self = Self.failure(ofTLS: "\(error)")
    case let error as NIOSSLExtraError where error == .failedToValidateHostname: self = .untrusted
    default: self = .other(PushFailure.text(of: error))
    }
  }

  /// The failure of a handshake.
  ///
  /// - Parameter text: Description of the library's error.
  static func failure(ofTLS text: String) -> ConnectionFailure {
    if text.contains("WRONG_VERSION_NUMBER") { return .notTLS }
    return text.contains("CERTIFICATE_VERIFY_FAILED") ? .untrusted : .handshake
  }

  /// The failure of a host with several addresses: what one of them responds says more than that another one has no route from here,
  /// as an IPv6 address has none from a network without IPv6.
  ///
  /// - Parameter failures: Those of its addresses; nil where there are none.
  static func decisive(of failures: [ConnectionFailure]) -> ConnectionFailure? {
    [ConnectionFailure.refused, .timedOut, .unreachable].first { failures.contains($0) } ?? failures.first
  }

  /// The reason in words, and a next step.
  var cause: (meaning: String, advice: String) {
    switch self {
    case .unknownHost: ("its host name is not known", "check the name, or write the address in numbers")
    case .refused:
      (
        "no server listens there (connection refused)",
        "start the server, or correct the port; of a container, publish it"
      )
    case .unreachable: ("the host cannot be reached", "check the address and the network of both machines")
    case .timedOut:
      (
        "it does not respond; a firewall that drops packets does the same",
        "check that the host runs, and let the port through its firewall"
      )
    case .noResponse:
      (
        "the server accepts the connection and does not respond to the request; its source may deliver nothing yet",
        "check that the source of the stream delivers, and that the port is the right one"
      )
    case .notTLS: ("the server does not speak TLS at this port", "use the port for TLS, or the scheme without s")
    case .silentTLS:
      (
        "the server accepts the connection, and does not speak TLS at this port, or hangs",
        "use the port for TLS, or the scheme without s"
      )
    case .isTLS(let scheme):
      ("the server speaks TLS at this port", "write \(scheme):// in the address, or use the port without TLS")
    case .untrusted:
      (
        "its certificate is not from an authority that this machine trusts, has expired, or is for another host name",
        "check its own address: vidicon check https://HOST/ names the cause"
      )
    case .handshake:
      (
        "TLS cannot be agreed on: the server has no version from 1.2 on, or wants a certificate of its clients",
        "switch on TLS 1.2 or 1.3 at the server; openssl s_client -connect HOST:PORT shows the reason"
      )
    case .notHTTP: ("the server does not speak HTTP there", "check the port and the scheme")
    case .closed:
      ("the server closes the connection without a response", "check the port, the scheme, and the server's log")
    case .redirect(let status, .invalid):
      (
        "the server redirects (\(status)), and not to an address of HTTP",
        "correct the header Location at the server, or use the address that it means"
      )
    case .redirect(let status, .insecure):
      (
        "the server redirects (\(status)) from HTTPS to HTTP, which players of pages over HTTPS do not follow",
        "let it redirect to https"
      )
    case .redirect(let status, .tooMany):
      ("the server redirects again and again (\(status))", "use the address that the redirects lead to")
    case .invalidAddress:
      (
        "its address is none of HTTP, has control characters, or leads from HTTPS to HTTP",
        "correct it in the playlist, or in the settings of the server"
      )
    case .other(let text): (text, "try again, and look into the log of the server")
    }
  }

  /// Finding of an address that cannot be connected to.
  ///
  /// - Parameters:
  ///   - place: Host and port.
  ///   - clients: Clients of the protocol, none of which plays.
  func finding(place: String, clients: [StreamClient]) -> StreamFinding {
    let (meaning, advice) = self.cause
    return StreamFinding(
      .connection, .fault("connection to \(place)", meaning, .advice(advice)), blocks: Set(clients))
  }
}
