public import Media

/// What one client, and all together, can make an ``HTTPServer`` hold.
public struct HTTPServerLimits: Hashable, Sendable {
  /// Open connections; when there are more, the one that has been idle for the longest time is closed, before others one
  /// of those that never sent a request when these are more than half, and a new one is closed at once when none is
  /// idle. The system's limit of open files may lower it.
  public var connections = 10_000
  /// How long a connection may be open without a request.
  public var idleTime = MediaDuration.seconds(60)
  /// How long the head of a request may take from its first byte on, the TLS handshake included.
  public var headTime = MediaDuration.seconds(15)
  /// How long a client may take nothing of what waits for it.
  public var stallTime = MediaDuration.seconds(20)
  /// Bytes of a request's header fields, all together.
  public var headerBytes = 32 * 1024
  /// Bytes of a request's path and query.
  public var targetBytes = 4 * 1024
  /// Bytes of a request's body, but for images, which may have 8 MiB; the longest other one that is read, a change of a
  /// stream, has at most 16 KiB.
  public var bodyBytes = 64 * 1024
  /// How long the body of a request may take.
  public var bodyTime = MediaDuration.seconds(15)
  /// Recorded files that are sent at a time.
  public var downloads = 64

  /// Every limit at its default.
  public init() {}
}
