/// The tracks that a client has set up: a session, RFC 2326 §3.4.
struct RTSPSessionTracks: Hashable {
  /// A track that is set up.
  struct Track: Hashable {
    /// Index of the track in the stream's description.
    var index: Int
    /// The URL of its SETUP, as the client wrote it, for `RTP-Info`.
    var url: String
    var transport: RTSPTrackTransport
  }

  /// The session's identifier.
  let id: String
  /// The stream as it was described at the first SETUP.
  let stream: RTSPStreamDescription
  /// Ordered by index, each at most once.
  private(set) var tracks: [Track] = []

  init(id: String, stream: RTSPStreamDescription) {
    self.id = id
    self.stream = stream
  }

  /// Adds a track, or replaces its transport.
  mutating func set(_ track: Track) {
    self.remove(index: track.index)
    self.tracks.insert(track, at: self.tracks.firstIndex { $0.index > track.index } ?? self.tracks.endIndex)
  }

  /// Removes a track.
  mutating func remove(index: Int) {
    self.tracks.removeAll { $0.index == index }
  }

  /// The track of an interleaved channel; nil for a channel that is not set up.
  func track(forChannel channel: UInt8) -> (index: Int, isRTCP: Bool)? {
    for track in self.tracks {
      guard case .interleaved(let pair) = track.transport else { continue }
      if pair.rtcp == channel { return (track.index, true) }
      if pair.rtp == channel { return (track.index, false) }
    }
    return nil
  }

  /// The channels for a track: the requested pair if it is free, else the lowest free pair; nil without a free pair.
  func channels(forTrack index: Int, requested: RTSPTransport.Pair<UInt8>?) -> RTSPTransport.Pair<UInt8>? {
    var others = self
    others.remove(index: index)
    func isFree(_ pair: RTSPTransport.Pair<UInt8>) -> Bool {
      others.track(forChannel: pair.rtp) == nil && others.track(forChannel: pair.rtcp) == nil
    }
    if let requested, requested.rtp != requested.rtcp, isFree(requested) { return requested }
    for channel in stride(from: UInt8(0), through: 254, by: 2) {
      let pair = RTSPTransport.Pair(rtp: channel, rtcp: channel + 1)
      if isFree(pair) { return pair }
    }
    return nil
  }

  /// The tracks to play.
  var playback: RTSPPlayback {
    RTSPPlayback(
      sessionID: self.id, streamName: self.stream.name,
      tracks: self.tracks.map {
        RTSPPlayback.Track(
          index: $0.index, ssrc: self.stream.tracks[$0.index].ssrc, transport: $0.transport)
      })
  }

  /// The value of `RTP-Info`, RFC 2326 §12.33; nil when no position is known.
  func rtpInfo(_ positions: [RTSPTrackPosition]) -> String? {
    let entries = self.tracks.compactMap { track in
      positions.first { $0.index == track.index }.map {
        "url=\(track.url);seq=\($0.sequenceNumber);rtptime=\($0.rtpTimestamp)"
      }
    }
    return entries.isEmpty ? nil : entries.joined(separator: ",")
  }
}
