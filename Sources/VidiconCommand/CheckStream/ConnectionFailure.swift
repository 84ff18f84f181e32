import Libc
import NIOCore
import NIOPosix
import NIOSSL
import Serving

/// Reasons why there is no connection to a server.
enum ConnectionFailure: Error, Equatable, Sendable {
  case unknownHost
  case refused
  case unreachable
  case timedOut
  /// The server does not speak TLS at this port.
  case notTLS
  /// The server closes the connection before its first response.
  case closed
  /// Another failure, in words.
  case other(String)

  init(_ error: any Error) {
    switch error {
    case let failure as ConnectionFailure: self = failure
    case let error as NIOConnectionError:
      self = error.connectionErrors.first.map { ConnectionFailure($0.error) } ?? .unknownHost
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
    case let error as NIOSSLError:
      self = "\(error)".contains("WRONG_VERSION_NUMBER") ? .notTLS : .other(PushFailure.text(of: error))
    default: self = .other(PushFailure.text(of: error))
    }
  }

  /// Finding of an address that cannot be connected to.
  ///
  /// - Parameters:
  ///   - place: Host and port.
  ///   - clients: Clients of the protocol, none of which plays.
  func finding(place: String, clients: [StreamClient]) -> StreamFinding {
    let (meaning, advice) =
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
      case .notTLS: ("the server does not speak TLS at this port", "use the port for TLS, or the scheme without s")
      case .closed:
        ("the server closes the connection without a response", "check the port, the scheme, and the server's log")
      case .other(let text): (text, "look into the log of the server")
      }
    return StreamFinding(
      .connection, .fault("connection to \(place)", meaning, .advice(advice)), blocks: Set(clients))
  }
}
