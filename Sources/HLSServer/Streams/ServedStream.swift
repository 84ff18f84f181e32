internal import HLS
internal import HTTPServer
package import Media
package import NIOCore
package import Streaming
internal import Synchronization

/// A stream served over HTTP: its HLS output and counters.
package final class ServedStream: Sendable {
  /// Kinds of content, as the label `protocol` of metrics.
  package enum Content: String, CaseIterable {
    /// Playlists, segments and parts.
    case hls
    /// Motion JPEG.
    case mjpeg
    /// Snapshots.
    case snapshot
  }

  /// The stream that is served.
  package let stream: LiveStream
  /// Playlists, segments and parts of the stream.
  package let hls: HLSOutput
  /// Runs the timers of the stream's outputs.
  package let eventLoop: any EventLoop
  /// Unix time at which serving began.
  package let servedSince: MediaDuration
  private let hasEnded = Atomic(false)
  private let hlsViewers = Mutex(RecentViewers())
  /// Viewers of each rendition but the main one, by its name.
  private let renditionViewers = Mutex([String: RecentViewers]())
  /// Viewers by their last media playlist response.
  private let playlistReaders = Mutex(RecentViewers())
  private let throughputs = Mutex(ViewerThroughputs())
  private let mjpegViewers = Atomic(0)
  private let hlsBytes = Atomic(0)
  private let mjpegBytes = Atomic(0)
  private let snapshotBytes = Atomic(0)

  init(
    _ stream: LiveStream, servedSince: MediaDuration, viewerIdleTime: MediaDuration, eventLoop: any EventLoop,
    resuming suspended: HLSStreamState? = nil
  ) {
    self.stream = stream
    self.servedSince = servedSince
    let token = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    self.eventLoop = eventLoop
    self.hls = HLSOutput(
      stream: stream, token: token, idleTime: viewerIdleTime, eventLoop: eventLoop, resuming: suspended)
  }

  /// Name of the stream.
  package var name: String { self.stream.name }

  /// Whether it is no longer served.
  var isOver: Bool { self.hasEnded.load(ordering: .relaxed) }

  /// Stops serving it; the stream itself may continue.
  func end() {
    self.hasEnded.store(true, ordering: .relaxed)
    self.hls.streamEnded()
  }

  /// Number of viewers at `now`; 0 for snapshots.
  package func viewers(of content: Content, at now: MediaTime) -> Int {
    switch content {
    case .hls: self.hlsViewers.withLock { $0.count(at: now, window: self.hls.viewerTimes.viewing) }
    case .mjpeg: self.mjpegViewers.load(ordering: .relaxed)
    case .snapshot: 0
    }
  }

  /// Number of HLS viewers of a rendition at `now`; they are among those of the stream.
  package func hlsViewers(of rendition: String, at now: MediaTime) -> Int {
    self.renditionViewers.withLock { $0[rendition]?.count(at: now, window: self.hls.viewerTimes.viewing) ?? 0 }
  }

  /// Records an HLS request.
  ///
  /// - Parameter rendition: Name of the rendition; nil for the main one.
  func noteHLSRequest(of rendition: String? = nil, address: String, userAgent: String, at now: MediaTime) {
    if let rendition {
      self.renditionViewers.withLock {
        $0[rendition, default: RecentViewers()].note(address: address, userAgent: userAgent, at: now)
      }
    }
    self.hlsViewers.withLock { $0.note(address: address, userAgent: userAgent, at: now) }
  }

  /// Records the throughput of a viewer's connection.
  func noteThroughput(
    _ measurement: ConnectionThroughput, of viewer: ViewerThroughputs.Viewer, at now: MediaTime
  ) {
    self.throughputs.withLock { $0.note(measurement, of: viewer, at: now) }
  }

  /// The rendition that a player should start with: the main one where nothing is known of its network.
  func firstRendition(for viewer: ViewerThroughputs.Viewer, at now: MediaTime) -> Rendition {
    guard let capacity = self.throughputs.withLock({ $0.bitrate(of: viewer, at: now) }) else { return self.stream.main }
    let others = self.stream.renditions.filter { $0.failure == nil }.sorted { $0.bitrate > $1.bitrate }
    let audio = self.stream.audioSettings.bitrate
    let main = (self.stream.averageVideoBitrate ?? self.stream.videoBitrate) + audio
    let bitrates = [main] + others.map { $0.bitrate + audio }
    return ([self.stream.main] + others)[InitialRendition.index(bitrates: bitrates, capacity: capacity)]
  }

  /// Records a media playlist response.
  func noteHLSPlaylist(address: String, userAgent: String, at now: MediaTime) {
    self.playlistReaders.withLock { $0.note(address: address, userAgent: userAgent, at: now) }
  }

  /// Whether the stream has just ended, and HLS viewers may not have fetched its last playlist and segments.
  func awaitsViewers(at now: MediaTime) -> Bool {
    let times = self.hls.viewerTimes
    guard let end = self.hls.endTime, now - end < times.farewell else { return false }
    if self.playlistReaders.withLock({ $0.hasRequest(from: end - times.reloading, to: end) }) { return true }
    return self.hlsViewers.withLock { $0.hasRequest(from: max(end, now - .milliseconds(200)), to: now) }
  }

  /// Counts a motion JPEG viewer that connects (1) or disconnects (-1).
  func countMotionJPEGViewers(_ change: Int) {
    self.mjpegViewers.add(change, ordering: .relaxed)
  }

  /// Bytes of content sent, without heads.
  package func bytesSent(of content: Content) -> Int {
    switch content {
    case .hls: self.hlsBytes.load(ordering: .relaxed)
    case .mjpeg: self.mjpegBytes.load(ordering: .relaxed)
    case .snapshot: self.snapshotBytes.load(ordering: .relaxed)
    }
  }

  /// Adds to the bytes sent.
  func countBytes(_ count: Int, of content: Content) {
    switch content {
    case .hls: self.hlsBytes.add(count, ordering: .relaxed)
    case .mjpeg: self.mjpegBytes.add(count, ordering: .relaxed)
    case .snapshot: self.snapshotBytes.add(count, ordering: .relaxed)
    }
  }
}
