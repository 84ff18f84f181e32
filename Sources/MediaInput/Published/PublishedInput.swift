internal import Bitstreams
internal import CLibav
package import Capture
internal import Codecs
package import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// Input that plays the media of one publisher at a time for a video consumer, an audio consumer, or both.
///
/// Publishers call it on any thread, and never wait: media is dropped while it has no consumer, or where decoding is too slow.
///
/// The connection of a publisher calls it on its event loop, the session of WebRTC on that of the hub:
///
/// ```swift
/// guard let publication = input.begin() else { return }   // another publisher sends
/// _ = publication.receive([.description(description), .sample(sample)])   // false once another one has taken the stream
/// publication.end()
/// ```
package final class PublishedInput: TrackPlayer {
  /// A period with a consumer.
  final class Run: Sendable {
    let buffer = PlayoutBuffer()
    let thread = WorkerThread(name: "published")
  }

  struct State {
    var videoFormat: VideoFormat
    var run: Run?
    var slot = PublisherSlot()
    /// The configuration that the publisher has sent; nil before.
    var video: PublishedCodec?
    var audio: PublishedCodec?
    /// Requests a keyframe of the publisher; nil where its protocol has no such request.
    var requestKeyframe: (@Sendable () -> Void)?
    var timeline = SourceTimeline()
    /// Latest time of a sample.
    var latest: MediaTime?
    /// Access units since the publisher's last keyframe.
    var group = OpenGroup()
    /// Reported end of the last publication, of which no sample was accepted: an encoder that connects again is one line.
    var lastError: VidiconError?
  }

  /// Protocol by which publishers send.
  let scheme: PublishedSource.Scheme

  let audioFormat: AudioFormat
  private let consumers = NetworkConsumers()
  let state: Mutex<State>
  /// Locked while a consumer is attached or detached.
  private let attaching = Mutex(())

  let now: @Sendable () -> MediaTime
  let handling: VideoHandling
  private let open: @Sendable (TrackCodecs) -> NetworkTracks?

  /// - Parameters:
  ///   - now: A monotonic clock.
  ///   - open: Opens decoders.
  init(
    format: VideoFormat, audioFormat: AudioFormat, scheme: PublishedSource.Scheme, handling: VideoHandling,
    now: @escaping @Sendable () -> MediaTime, open: @escaping @Sendable (TrackCodecs) -> NetworkTracks? = { $0.open() }
  ) {
    self.open = open
    self.scheme = scheme
    self.handling = handling
    self.now = now
    self.audioFormat = audioFormat
    self.state = Mutex(State(videoFormat: format))
  }

  /// The input of a capturer; nil where the capturer is of another kind.
  static func of(_ capturer: any VideoCapturer) -> PublishedInput? {
    (capturer as? TrackVideoCapturer)?.player as? PublishedInput
  }

  /// The input of a capturer; nil where the capturer is of another kind.
  static func of(_ capturer: any AudioCapturer) -> PublishedInput? {
    (capturer as? TrackAudioCapturer)?.player as? PublishedInput
  }

  var name: String { "the source \(self.scheme.rawValue)" }

  /// Maximum time for which nothing is received of a publisher that is held back.
  static let maximumHoldTime = PublisherSlot.holdTime / 2

  /// Reported to consumers while there is no publisher.
  var idle: VidiconError {
    VidiconError(
      .failed, subject: self.name, cause: "no publisher sends",
      nextStep: self.nextStep)
  }

  private var nextStep: String {
    switch self.scheme {
    case .rtmp: "start an encoder with the server and stream key that were printed at the start"
    case .rtsp: "start an encoder with the address that was printed at the start"
    case .whip: "start an encoder with the address and token that were printed at the start"
    }
  }
}

// MARK: Publishers

extension PublishedInput {
  /// Begins a publication.
  ///
  /// - Parameter requestKeyframe: Requests a keyframe of the publisher: called on any thread, must not block; nil where its protocol has
  ///   no such request.
  /// - Returns: nil when another publisher sends.
  package func begin(requestKeyframe: (@Sendable () -> Void)? = nil) -> Publication? {
    self.state.withLock { state in
      guard let id = state.slot.begin(at: self.now()) else { return nil }
      (state.video, state.audio) = (nil, nil)
      state.requestKeyframe = requestKeyframe
      state.timeline.restart(.unheld)
      state.latest = nil
      state.group.removeAll()
      return Publication(of: self, id: id)
    }
  }

  private func appendCodecs(of state: State, to run: Run) {
    guard state.video != nil || state.audio != nil else { return }
    run.buffer.append(
      .codecs(TrackCodecs(video: state.video, audio: state.audio, handling: self.handling, source: self.name)))
  }

  /// Lets a video consumer begin amid a group of pictures. Its capturer has the publisher's format when this returns.
  private func appendOpenGroup(of state: inout State, to run: Run) {
    self.appendCodecs(of: state, to: run)
    guard let format = state.video?.videoFormat else { return }
    state.videoFormat = format
    let packets = state.group.samples.map { NetworkPacket($0.sample, times: $0.times) }
    // Samples of a publisher that is held back wait for their times.
    let now = self.now()
    let due = state.timeline.bufferedSpan == nil ? packets[...] : packets.prefix { $0.times.decode <= now }
    if !due.isEmpty { run.buffer.append(.openGroup(Array(due))) }
    for packet in packets.dropFirst(due.count) { run.buffer.appendLive(packet) }
  }
}

// MARK: Consumers

extension PublishedInput {
  package var videoFormat: VideoFormat? {
    self.state.withLock { $0.videoFormat }
  }

  package func isStarted(_ kind: MediaKind) -> Bool {
    self.consumers.isAttached(kind)
  }

  package func start(video consumer: any VideoConsumer) throws(VidiconError) {
    try self.start(.video) { $0.attach(video: consumer) }
  }

  package func start(audio consumer: any AudioConsumer) throws(VidiconError) {
    try self.start(.audio) { $0.attach(audio: consumer) }
  }

  package func requestKeyframe() {
    self.state.withLock { $0.requestKeyframe }?()
  }

  private func start(_ kind: MediaKind, _ attach: (NetworkConsumers) -> Void) throws(VidiconError) {
    defer {
      // Publishers that send keyframes on request only: the group is too long to be kept, or has just begun.
      if kind == .video, self.state.withLock({ $0.group.samples.isEmpty }) { self.requestKeyframe() }
    }
    let result: Result<Void, VidiconError> = self.attaching.withLock { _ in
      attach(self.consumers)
      let (run, isNew) = self.state.withLock { state -> (Run, Bool) in
        let (run, isNew) = state.run.map { ($0, false) } ?? (Run(), true)
        state.run = run
        if kind == .video {
          self.appendOpenGroup(of: &state, to: run)
        } else if isNew {
          self.appendCodecs(of: state, to: run)
        }
        // Silence at once. Video just does not begin: a source that ends before its first frame fails the stream.
        if kind == .audio, !state.slot.isTaken { run.buffer.append(.noAudio(self.idle)) }
        return (run, isNew)
      }
      guard isNew else { return .success(()) }
      do throws(VidiconError) {
        try run.thread.start { _ in self.play(run) }
        return .success(())
      } catch {
        _ = self.consumers.detach(kind, isDelivering: false)
        self.state.withLock { $0.run = nil }
        return .failure(error)
      }
    }
    try result.get()
  }

  private func play(_ run: Run) {
    run.buffer.play(
      to: self.consumers, audioFormat: self.audioFormat,
      silence: { time in
        VidiconError(
          .timedOut, subject: self.name,
          cause: "the publisher has sent neither audio nor video for \(Int(time.seconds)) s",
          nextStep: "check it; the stream goes on as soon as something comes")
      }, open: self.open, onDamage: { self.requestKeyframe() }
    ) { format in
      let isNew = self.state.withLock { state in
        defer { state.videoFormat = format }
        return state.videoFormat != format
      }
      if isNew { self.consumers.notifyVideo { $0.captureFormatChanged(to: format) } }
    }
  }

  package func stop(_ kind: MediaKind) {
    let run = self.state.withLock { $0.run }
    guard let run, self.consumers.detach(kind, isDelivering: run.thread.isCurrent) else { return }
    self.state.withLock { if $0.run === run { $0.run = nil } }
    run.buffer.close()
    run.thread.stop()
  }
}
