internal import Capture
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization
internal import Threading

/// A stream as HTTP offers it.
final class PublishedStream: Sendable {
  /// What was sent over HTTP, by what it was.
  enum Content: String, CaseIterable {
    /// Playlists, segments and parts.
    case hls
    /// Motion JPEG.
    case mjpeg
    /// Single pictures.
    case snapshot
  }

  let stream: LiveStream
  let hls: HLSOutput
  /// What is told of faces.
  let faces: FaceFeed
  /// What the controls of the picture's source are.
  let controls = SingleFlight<[DeviceControl]>(threadName: "controls", timeout: .seconds(2))
  /// When it was published, Unix time.
  let publishedAt: MediaDuration
  private let hasEnded = Atomic(false)
  private let hlsViewers = Mutex(RecentViewers())
  /// When they last got a playlist that tells of segments.
  private let playlistReaders = Mutex(RecentViewers())
  private let mjpegViewers = Atomic(0)
  private let hlsBytes = Atomic(0)
  private let mjpegBytes = Atomic(0)
  private let snapshotBytes = Atomic(0)

  init(_ stream: LiveStream, publishedAt: MediaDuration, eventLoop: any EventLoop) {
    self.stream = stream
    self.publishedAt = publishedAt
    let token = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let hls = HLSOutput(stream: stream, token: token, eventLoop: eventLoop)
    self.hls = hls
    self.faces = FaceFeed(eventLoop: eventLoop) { hls.tell($0) }
  }

  var name: String { self.stream.name }

  /// Whether it is offered no longer.
  var isOver: Bool { self.hasEnded.load(ordering: .relaxed) }

  /// It is offered no longer, though the stream itself may go on.
  func end() {
    self.hasEnded.store(true, ordering: .relaxed)
    self.hls.streamEnded()
    self.faces.streamEnded()
  }

  /// Those who watch now.
  func viewers(of content: Content, at now: MediaTime) -> Int {
    switch content {
    case .hls: self.hlsViewers.withLock { $0.count(at: now) }
    case .mjpeg: self.mjpegViewers.load(ordering: .relaxed)
    case .snapshot: 0
    }
  }

  /// Notes that somebody asked for HLS.
  func noteHLSRequest(address: String, program: String, at now: MediaTime) {
    self.hlsViewers.withLock { $0.note(address: address, program: program, at: now) }
  }

  /// Notes that somebody got a playlist that tells of segments.
  func noteHLSPlaylist(address: String, program: String, at now: MediaTime) {
    self.playlistReaders.withLock { $0.note(address: address, program: program, at: now) }
  }

  /// Whether the stream ended just now and viewers of HLS have yet to learn of it, or to fetch its last segments.
  ///
  /// A player asks for the playlist again after a target duration, of one second.
  func awaitsViewers(at now: MediaTime) -> Bool {
    guard let end = self.hls.endTime, now - end < .milliseconds(1300) else { return false }
    if self.playlistReaders.withLock({ $0.hasRequest(from: end - .seconds(3), to: end) }) { return true }
    return self.hlsViewers.withLock { $0.hasRequest(from: max(end, now - .milliseconds(200)), to: now) }
  }

  /// Notes that a viewer of motion JPEG has come (1) or gone (-1).
  func countMotionJPEGViewers(_ change: Int) {
    self.mjpegViewers.add(change, ordering: .relaxed)
  }

  /// Bytes sent, without heads.
  func bytesSent(of content: Content) -> Int {
    switch content {
    case .hls: self.hlsBytes.load(ordering: .relaxed)
    case .mjpeg: self.mjpegBytes.load(ordering: .relaxed)
    case .snapshot: self.snapshotBytes.load(ordering: .relaxed)
    }
  }

  /// Notes that bytes are sent.
  func countBytes(_ count: Int, of content: Content) {
    switch content {
    case .hls: self.hlsBytes.add(count, ordering: .relaxed)
    case .mjpeg: self.mjpegBytes.add(count, ordering: .relaxed)
    case .snapshot: self.snapshotBytes.add(count, ordering: .relaxed)
    }
  }
}
