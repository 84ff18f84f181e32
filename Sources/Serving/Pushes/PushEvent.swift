public import Media

/// A change of a push's state, for its owner; has no stream key.
public struct PushEvent: Hashable, Sendable {
  /// Change of the push, with its reason.
  public enum Kind: Hashable, Sendable {
    /// The server has accepted the stream.
    case sending
    /// The connection has ended, or could not be made; reported once while the reason stays the same. The time until the next
    /// attempt is nil when none follows.
    case failed(String, nextAttempt: MediaDuration?)
    /// The push sends what all viewers get, of this bitrate, until an encoding of its own is free.
    case waitingForEncoding(sentBitrate: Int)
    /// The push has been stopped.
    case stopped
  }

  /// Number of the push, as in its report.
  public var push: Int
  /// URL of the server, without the stream key.
  public var address: String
  /// Change of the push, with its reason.
  public var kind: Kind

  /// Creates an event; the address has no key.
  public init(push: Int, address: String, kind: Kind) {
    self.push = push
    self.address = address
    self.kind = kind
  }
}
