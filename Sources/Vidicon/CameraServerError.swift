public import Media

/// Why a ``CameraServer`` cannot listen.
public enum CameraServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// RTSP cannot.
  case rtsp(VidiconError)
  /// HTTP cannot.
  case http(VidiconError)

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .rtsp(let error): error.description
    case .http(let error): error.description
    }
  }

  /// Whether the address to listen on is no IP address at all: an error of whoever gave it, not of the network.
  public var isMalformedAddress: Bool {
    switch self {
    case .rtsp(let error), .http(let error): error.code == .invalidSpecification
    }
  }
}
