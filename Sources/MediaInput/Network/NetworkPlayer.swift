internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// Plays a network source for a video consumer, an audio consumer, or both; connected while there is a consumer.
final class NetworkPlayer: TrackPlayer {
  private struct State {
    var session: NetworkSession?
    var videoFormat: VideoFormat?
    var dropped = 0
  }

  /// A connection that no session uses yet, and the time at which it was established.
  private struct Prepared: Sendable {
    let connection: any NetworkConnection
    let time: MediaTime
  }

  /// Format of all audio blocks; nil without an audio track.
  let audioFormat: AudioFormat?
  /// Reason why the first connection is still tried; nil where it was established at once.
  let pendingFailure: VidiconError?
  /// Whether a start waits for no connection.
  private let connectsLater: Bool
  private let specification: NetworkSpecification
  private let consumers = NetworkConsumers()
  private let state: Mutex<State>
  /// Locked while a start connects.
  private let prepared: Mutex<Prepared?>

  /// Maximum age of an unused connection; its buffered packets are old after that.
  private static let maximumConnectionAge = MediaDuration.seconds(2)

  /// - Parameter formats: Formats until the first connection, which then is tried again and again in the background; nil to need it
  ///   at once.
  init(_ specification: NetworkSpecification, until formats: NetworkSource.AssumedFormats? = nil) throws(VidiconError) {
    var connection: (any NetworkConnection)?
    var failure: VidiconError?
    if formats != nil, specification.isFIFO {
      failure = VidiconError(
        .failed, subject: specification.description, cause: "no program writes to it yet",
        nextStep: "start one that does")
    } else {
      do throws(VidiconError) {
        connection = try NetworkConnections.open(specification, interrupt: LibavInterrupt())
      } catch {
        guard formats != nil, error.mayPass else { throw error }
        failure = error
      }
      if let needed = formats?.needed, let tracks = connection?.tracks,
        needed == .video ? tracks.videoFormat == nil : tracks.audio == nil
      {
        connection = nil
        failure = VidiconError(
          .missingTrack, subject: specification.description, cause: "it sends no \(needed.rawValue) yet",
          nextStep: "check it with: ffprobe \(specification)")
      }
    }
    self.specification = specification
    self.pendingFailure = failure
    self.connectsLater = formats != nil
    self.audioFormat = connection?.tracks.audio?.format ?? formats?.audio
    self.state = Mutex(State(videoFormat: connection.map { $0.tracks.videoFormat } ?? formats?.video))
    self.prepared = Mutex(connection.map { Prepared(connection: $0, time: StreamClock.system.now()) })
  }

  /// Format of the frames; nil without a video track. Changes after a reconnection to a source that has changed.
  var videoFormat: VideoFormat? {
    self.state.withLock { $0.videoFormat }
  }

  /// Number of dropped packets.
  var droppedPacketCount: Int {
    self.state.withLock { $0.dropped + ($0.session?.droppedCount ?? 0) }
  }

  /// Whether the consumer of a track is attached.
  func isStarted(_ kind: MediaKind) -> Bool {
    self.consumers.isAttached(kind)
  }

  /// Starts delivering frames. The threads keep this object alive until ``stop(_:)``.
  func start(video consumer: any VideoConsumer) throws(VidiconError) {
    try self.start { $0.attach(video: consumer) }
  }

  /// Starts delivering audio blocks. The threads keep this object alive until ``stop(_:)``.
  func start(audio consumer: any AudioConsumer) throws(VidiconError) {
    try self.start { $0.attach(audio: consumer) }
  }

  private func start(_ attach: (NetworkConsumers) -> Void) throws(VidiconError) {
    let result: Result<Void, VidiconError> = self.prepared.withLock { prepared in
      guard self.state.withLock({ $0.session == nil }) else {
        attach(self.consumers)
        return .success(())
      }
      let waiting = prepared.take()
      do throws(VidiconError) {
        try self.start(with: waiting, attach)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private func start(with prepared: Prepared?, _ attach: (NetworkConsumers) -> Void) throws(VidiconError) {
    let connection: (any NetworkConnection)?
    if let prepared, StreamClock.system.now() - prepared.time < Self.maximumConnectionAge {
      connection = prepared.connection
    } else if self.connectsLater {
      connection = nil
    } else {
      connection = try NetworkConnections.open(self.specification, interrupt: LibavInterrupt())
    }
    let session = NetworkSession(
      connection, connectsLater: self.connectsLater, specification: self.specification, consumers: self.consumers,
      audioFormat: self.audioFormat
    ) { [weak self] in self?.formatChanged(to: $0) }
    // Attached before the threads start, so that no packet is lost.
    attach(self.consumers)
    self.state.withLock { $0.session = session }
    do throws(VidiconError) {
      try session.start()
    } catch {
      for kind in MediaKind.allCases { self.stop(kind) }
      throw error
    }
  }

  /// Stops delivery to a consumer; does nothing when it is not started.
  func stop(_ kind: MediaKind) {
    let session = self.state.withLock { $0.session }
    guard self.consumers.detach(kind, isDelivering: session?.isDelivering ?? false), let session else { return }
    self.state.withLock { state in
      guard state.session === session else { return }
      state.session = nil
      state.dropped += session.droppedCount
    }
    session.stop()
  }

  private func formatChanged(to format: VideoFormat) {
    let isNew = self.state.withLock { state in
      defer { state.videoFormat = format }
      return state.videoFormat != format
    }
    if isNew { self.consumers.notifyVideo { $0.captureFormatChanged(to: format) } }
  }
}
