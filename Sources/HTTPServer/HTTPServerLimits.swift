public import Media

/// Limits on connections, requests and downloads over HTTP.
public struct HTTPServerLimits: Hashable, Sendable {
  /// Maximum time a connection may be open after a request without another one.
  public var idleTime = MediaDuration.seconds(60)
  /// Maximum time until the first byte of a connection, and from the first byte of a request head to its last, TLS handshake
  /// included.
  public var headTime = MediaDuration.seconds(15)
  /// Maximum time a client may read nothing while bytes wait for it.
  public var stallTime = MediaDuration.seconds(20)
  /// Maximum size of a request's header fields in bytes, all together.
  public var headerBytes = 32 * 1024
  /// Maximum length of a request's path and query in bytes.
  public var targetBytes = 4 * 1024
  /// Maximum size of a request body in bytes. Images may have 8 MiB regardless; JSON bodies are read up to 16 KiB.
  public var bodyBytes = 64 * 1024
  /// Maximum time until the body of a request is complete.
  public var bodyTime = MediaDuration.seconds(15)
  /// Maximum number of open event streams and Motion JPEG responses of an HTTP/2 connection.
  public var endlessResponses = 16
  /// Time after its last HLS request for which a viewer is counted, and for which segments are stored; three target durations
  /// where that is longer.
  public var viewerIdleTime = MediaDuration.seconds(10)
  /// Maximum number of recorded files being sent at a time.
  public var downloads = 64
  /// Minimum time from the end of a check of the machine to the next one; requests within it get the same report.
  public var checkInterval = MediaDuration.seconds(10)

  /// Creates the default limits: the initial values of the properties.
  public init() {}
}
