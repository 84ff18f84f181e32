internal import Bitstreams
internal import CLibav
package import Capture
internal import Codecs
package import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// Takes the media of one publisher at a time, and plays it for a video consumer, an audio consumer, or both.
///
/// Publishers call it on any thread, and never wait: media is dropped while it has no consumer, or where decoding is too slow.
package final class PublishedInput: TrackPlayer {
  /// A period with a consumer.
  private final class Run: Sendable {
    let buffer = PlayoutBuffer()
    let thread = WorkerThread(name: "published")
  }

  private struct State {
    var videoFormat: VideoFormat
    var run: Run?
    var slot = PublisherSlot()
    /// The configuration that the publisher has sent; nil before.
    var video: H264Description?
    var audio: AACDescription?
    var timeline = SourceTimeline()
    /// Reported end of the last publication, of which no sample was accepted: an encoder that connects again is one line.
    var lastError: VidiconError?
  }

  /// Protocol by which publishers send.
  let scheme: PublishedSource.Scheme

  let audioFormat: AudioFormat
  private let consumers = NetworkConsumers()
  private let state: Mutex<State>
  /// Locked while a consumer is attached or detached.
  private let attaching = Mutex(())

  init(format: VideoFormat, audioFormat: AudioFormat, scheme: PublishedSource.Scheme) {
    self.scheme = scheme
    self.audioFormat = audioFormat
    self.state = Mutex(State(videoFormat: format))
  }

  private var name: String { "the source \(self.scheme.rawValue)" }

  /// Reported to consumers while there is no publisher.
  private var idle: VidiconError {
    VidiconError(
      .failed, subject: self.name, cause: "no publisher sends",
      nextStep: self.scheme == .rtmp
        ? "start an encoder with the server and stream key that were printed at the start"
        : "start an encoder with the address that was printed at the start")
  }
}

// MARK: Publishers

extension PublishedInput {
  /// Begins a publication.
  ///
  /// - Returns: nil when another publisher sends.
  package func begin() -> PublisherSlot.ID? {
    self.state.withLock { state in
      guard let id = state.slot.begin(at: StreamClock.system.now()) else { return nil }
      (state.video, state.audio) = (nil, nil)
      state.timeline.restart(.live)
      return id
    }
  }

  /// Takes a track's first or new codec configuration.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func describe(_ description: CodecDescription, by id: PublisherSlot.ID) -> Bool {
    self.state.withLock { state in
      guard state.slot.handleActivity(of: id, at: StreamClock.system.now()) else { return false }
      switch description {
      case .h264(let video): state.video = video
      case .aac(let audio): state.audio = audio
      }
      if let run = state.run { self.appendTracks(of: state, to: run) }
      return true
    }
  }

  /// Takes a sample, whose times are on the publisher's clock.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func consume(_ sample: EncodedSample, by id: PublisherSlot.ID) -> Bool {
    let now = StreamClock.system.now()
    return self.state.withLock { state in
      guard state.slot.handleActivity(of: id, at: now) else { return false }
      state.lastError = nil
      guard let run = state.run, let packet = NetworkPacket(sample) else { return true }
      packet.times = state.timeline.map(
        sample.kind, decode: sample.decodeTime.nanoseconds, presentation: sample.presentationTime.nanoseconds,
        arrival: now)
      run.buffer.appendLive(packet)
      return true
    }
  }

  /// Ends a publication, unless another one has displaced it.
  ///
  /// - Parameter error: The reason that the owner is to know; nil when the publisher has ended it.
  package func end(_ id: PublisherSlot.ID, error: VidiconError? = nil) {
    self.state.withLock { state in
      guard state.slot.end(id) else { return }
      (state.video, state.audio) = (nil, nil)
      if let error, error == state.lastError { return }
      state.lastError = error
      state.run?.buffer.append(.lost(error ?? self.idle))
    }
  }

  private func appendTracks(of state: State, to run: Run) {
    guard let tracks = NetworkTracks(video: state.video, audio: state.audio, source: self.name) else {
      return
    }
    run.buffer.append(.tracks(tracks))
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

  private func start(_ kind: MediaKind, _ attach: (NetworkConsumers) -> Void) throws(VidiconError) {
    let result: Result<Void, VidiconError> = self.attaching.withLock { _ in
      attach(self.consumers)
      let (run, isNew) = self.state.withLock { state -> (Run, Bool) in
        let (run, isNew) = state.run.map { ($0, false) } ?? (Run(), true)
        state.run = run
        if isNew { self.appendTracks(of: state, to: run) }
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
    run.buffer.play(to: self.consumers, audioFormat: self.audioFormat) { format in
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

extension NetworkPacket {
  /// A packet with the bytes of a sample; nil when memory is exhausted.
  fileprivate convenience init?(_ sample: EncodedSample) {
    self.init(byteCount: sample.payload.readableBytes, isKeyframe: sample.isKeyframe)
    self.kind = sample.kind
    self.duration = sample.duration > .zero ? sample.duration : nil
    guard let data = self.pointer.pointee.data else { return }
    sample.payload.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyMemory(from: bytes)
    }
  }
}
