package import Media

/// A served stream as RTSP describes it: name, session description and tracks.
package struct RTSPStreamDescription: Hashable, Sendable {
  /// One track, in the order of the session description.
  package struct Track: Hashable, Sendable {
    /// Whether the track is video or audio.
    package var kind: MediaKind
    /// The value of `a=control`, relative to the stream's URL, without slashes, such as "trackID=0".
    package var control: String
    /// The synchronization source of its RTP packets, RFC 3550 §3.
    package var ssrc: UInt32

    /// A track with its control value and SSRC.
    package init(kind: MediaKind, control: String, ssrc: UInt32) {
      self.kind = kind
      self.control = control
      self.ssrc = ssrc
    }
  }

  /// The name in the stream's URL, without leading or trailing slashes.
  package var name: String
  /// The body of the response to DESCRIBE, RFC 8866.
  package var sessionDescription: String
  /// The tracks, in the order of the session description.
  package var tracks: [Track]

  /// Creates the description of a stream from its SDP and its tracks.
  package init(name: String, sessionDescription: String, tracks: [Track]) {
    self.name = name
    self.sessionDescription = sessionDescription
    self.tracks = tracks
  }
}

/// Looks up served streams for server sessions.
package protocol RTSPStreamDirectory {
  /// Returns the stream with a name; nil when there is none.
  ///
  /// - Parameter path: The decoded components of the URL's path, joined by slashes; empty for a URL without a path,
  ///   which names the first stream.
  func stream(forPath path: String) -> RTSPStreamDescription?

  /// Whether a path names a stream whose description takes a moment to prepare, ``RTSPServerAction/prepareStream(path:_:)``.
  func needsPreparation(ofPath path: String) -> Bool
}

extension RTSPStreamDirectory {
  /// False: for directories that know all descriptions.
  package func needsPreparation(ofPath path: String) -> Bool { false }
}
