internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// Plays a file in real time for a video consumer, an audio consumer, or both on one timeline.
///
/// One thread reads, decodes and delivers; it runs while there is a consumer.
final class FilePlayer: TrackPlayer {
  private struct State {
    var video: (any VideoConsumer)?
    var audio: (any AudioConsumer)?
    /// Consumers that were notified of the end.
    var ended: Set<MediaKind> = []
    /// Consumer that the thread is calling.
    var delivering: MediaKind?
    /// Number of the current playback; a thread with an older number ends.
    var playback = 0
    var thread: WorkerThread?
  }

  /// Format of all frames; nil without a video track.
  let videoFormat: VideoFormat?
  /// Format of all audio blocks; nil without an audio track.
  let audioFormat: AudioFormat?
  /// Reason why a kind of track that the file has is not played.
  let failures: [MediaKind: VidiconError]
  private let state = Monitor(State())
  /// Locked by the thread while it plays.
  private let decoder: Mutex<FileDecoder>
  private let interrupt: LibavInterrupt
  private let corrupt = Atomic<Int>(0)

  init(path: String, isLooped: Bool, isConfined: Bool) throws(VidiconError) {
    self.interrupt = LibavInterrupt()
    let decoder = try FileDecoder(
      path: path, isLooped: isLooped, isConfined: isConfined, interrupt: self.interrupt)
    self.videoFormat = decoder.video?.format
    self.audioFormat = decoder.audio?.format
    self.failures = decoder.failures
    self.decoder = Mutex(decoder)
  }

  /// Number of packets and frames that could not be decoded.
  var corruptCount: Int {
    self.corrupt.load(ordering: .relaxed)
  }

  /// Whether the consumer of a track is attached.
  func isStarted(_ kind: MediaKind) -> Bool {
    self.state.read { kind == .video ? $0.video != nil : $0.audio != nil }
  }

  /// Starts delivering frames. The thread keeps this object alive until ``stop(_:)``.
  func start(video consumer: any VideoConsumer) throws(VidiconError) {
    try self.start(.video) { $0.video = consumer }
  }

  /// Starts delivering audio blocks.
  func start(audio consumer: any AudioConsumer) throws(VidiconError) {
    try self.start(.audio) { $0.audio = consumer }
  }

  /// Stops delivery to a consumer; does nothing when it is not started.
  func stop(_ kind: MediaKind) {
    let (thread, isOwn): (WorkerThread?, Bool) = self.state.withLock { state in
      let isOwn = state.thread?.isCurrent ?? false
      if kind == .video { state.video = nil } else { state.audio = nil }
      guard state.video == nil, state.audio == nil, let thread = state.thread else { return (nil, isOwn) }
      state.thread = nil
      state.playback += 1
      self.interrupt.requestedPlayback.store(state.playback, ordering: .relaxed)
      return (thread, isOwn)
    }
    if let thread {
      thread.stop()
    } else if !isOwn {
      _ = self.state.wait { $0.delivering == kind ? nil : true }
    }
  }

  private func start(_ kind: MediaKind, _ attach: (inout State) -> Void) throws(VidiconError) {
    let result: Result<Void, VidiconError> = self.state.withLock { state in
      attach(&state)
      state.ended.remove(kind)
      guard state.thread == nil else { return .success(()) }
      let number = state.playback
      let thread = WorkerThread(name: "file")
      do throws(VidiconError) {
        try thread.start { _ in self.play(number) }
        state.thread = thread
        return .success(())
      } catch {
        state.video = nil
        state.audio = nil
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Body of the thread.
  private func play(_ number: Int) {
    self.decoder.withLock { decoder in
      self.interrupt.currentPlayback.store(number, ordering: .relaxed)
      decoder.restart()
      // Clock time of the timeline's zero, set when the first frame or audio block is decoded.
      var anchor: MediaTime?
      // Timeline position at which this playback began.
      var first: Int64 = 0
      var delay = MediaDuration.zero
      while let tracks = self.tracks(of: number) {
        // Both tracks are decoded during the first second, so that a consumer started shortly after the other misses
        // nothing: video could only join at the next keyframe.
        let position = anchor.map { (StreamClock.system.now() - $0).nanoseconds }
        let isSettling = position.map { $0 - first < 1_000_000_000 } ?? true
        decoder.setActive(video: tracks.video || isSettling, audio: tracks.audio || isSettling, at: position)

        let next = decoder.next
        var due: MediaTime?
        if let next, let begin = anchor {
          let now = StreamClock.system.now()
          let time = begin + MediaDuration(nanoseconds: next.time)
          if time <= now {
            delay = now - time
            // After a stall (busy or suspended machine, network) playback resumes at its position instead of catching up.
            if delay > .seconds(1) { anchor = begin + delay }
            self.deliver(next, of: decoder, at: delay > .seconds(1) ? now : time, number)
            continue
          }
          due = time
        }
        if decoder.advance(isLate: delay > .milliseconds(300)) {
          self.corrupt.store(decoder.corruptCount, ordering: .relaxed)
          continue
        }
        if let next, anchor == nil {
          first = next.time
          anchor = StreamClock.system.now() - MediaDuration(nanoseconds: first)
          decoder.begin(at: first)
          continue
        }
        if decoder.isVideoEnded { self.end(.video, decoder.error, number) }
        if decoder.isAudioEnded { self.end(.audio, decoder.error, number) }
        let isOver = decoder.isVideoEnded && decoder.isAudioEnded
        let wake = due ?? (isOver ? nil : StreamClock.system.now() + .milliseconds(10))
        _ = self.state.wait(until: wake) { state in
          let isSame =
            state.playback == number && tracks == (state.video != nil, state.audio != nil)
            && (!isOver || state.ended.count == 2)
          return isSame ? nil : true
        }
      }
    }
  }

  /// The tracks with a consumer; nil when this playback must end.
  private func tracks(of number: Int) -> (video: Bool, audio: Bool)? {
    self.state.read { $0.playback == number ? ($0.video != nil, $0.audio != nil) : nil }
  }

  private func deliver(_ next: FileDecoder.Next, of decoder: FileDecoder, at time: MediaTime, _ number: Int) {
    switch next {
    case .frame:
      guard var frame = decoder.dequeueFrame() else { return }
      frame.timestamp = time
      self.notify(.video, number, { $0.video }) { $0.consume(frame) }
    case .audio:
      guard var block = decoder.dequeueAudio() else { return }
      block.timestamp = time
      self.notify(.audio, number, { $0.audio }) { $0.consume(block) }
    }
  }

  private func end(_ kind: MediaKind, _ error: VidiconError?, _ number: Int) {
    guard self.state.withLock({ $0.playback == number && $0.ended.insert(kind).inserted }) else { return }
    switch kind {
    case .video: self.notify(.video, number, { $0.video }) { $0.captureEnded(error) }
    case .audio: self.notify(.audio, number, { $0.audio }) { $0.captureEnded(error) }
    }
  }

  /// Calls a consumer, so that ``stop(_:)`` can wait for it to return.
  private func notify<Consumer>(
    _ kind: MediaKind, _ number: Int, _ consumer: (State) -> Consumer?, _ body: (Consumer) -> Void
  ) {
    let consumer = self.state.withLock { state in
      let consumer = state.playback == number ? consumer(state) : nil
      if consumer != nil { state.delivering = kind }
      return consumer
    }
    guard let consumer else { return }
    body(consumer)
    self.state.withLock { $0.delivering = nil }
  }
}
