import Media
import NIOCore

/// The client's side of one connection of a check, which plays a stream and notes what happens. Pure: times are arguments. Used on one
/// event loop.
protocol ConnectionProbe: AnyObject, SendableMetatype {
  /// Facts that a probe collects.
  associatedtype Observation: Sendable

  /// Time at which ``handleTime(_:)`` is due.
  var nextDeadline: MediaTime { get }
  /// Whether the probe needs nothing more; the connection is closed then.
  var isComplete: Bool { get }

  /// Begins, once the connection is open and TLS complete; returns what is sent.
  func start(at now: MediaTime) -> ByteBuffer
  /// Processes received bytes in pieces of any length; returns what is sent.
  func receive(_ bytes: ByteBuffer, at now: MediaTime) -> ByteBuffer
  /// Does what has become due; returns what is sent.
  func handleTime(_ now: MediaTime) -> ByteBuffer
  /// Records that the server has closed the connection.
  func handleEnd(at now: MediaTime)
  /// Bytes that are sent last, before the connection is closed.
  func finish() -> ByteBuffer
  /// Facts up to a time.
  func observation(at now: MediaTime) -> Observation
}
