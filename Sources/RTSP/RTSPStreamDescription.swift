public import Media

/// What a server session must know of a published stream.
public struct RTSPStreamDescription: Hashable, Sendable {
  /// One track, in the order of the session description.
  public struct Track: Hashable, Sendable {
    /// What it carries.
    public var kind: MediaKind
    /// The value of `a=control`, relative to the stream's URL, without slashes: "trackID=0".
    public var control: String
    /// The synchronization source of its RTP packets, RFC 3550 §3.
    public var ssrc: UInt32

    /// A track.
    public init(kind: MediaKind, control: String, ssrc: UInt32) {
      self.kind = kind
      self.control = control
      self.ssrc = ssrc
    }
  }

  /// The name under which it is published, without slashes at its ends.
  public var name: String
  /// The text that DESCRIBE answers with, RFC 8866.
  public var sessionDescription: String
  /// The tracks.
  public var tracks: [Track]

  /// A description.
  public init(name: String, sessionDescription: String, tracks: [Track]) {
    self.name = name
    self.sessionDescription = sessionDescription
    self.tracks = tracks
  }
}

/// The streams that a server session can find.
public protocol RTSPStreamDirectory {
  /// The stream of a name, or nil.
  ///
  /// - Parameter path: The decoded parts of the URL's path with a slash between; empty for a URL without a path, which
  ///   means the first stream.
  func stream(forPath path: String) -> RTSPStreamDescription?
}
