internal import Capture
internal import Codecs
internal import Effects
public import Media
package import Synchronization
internal import Threading

/// A network camera: video and audio, encoded once for any number of outputs.
///
/// ```swift
/// let stream = LiveStream("hello", video: .init(width: 1280, height: 720, frameRate: 30))
/// stream.attachVideo(PlasmaCapturer())
/// stream.attachAudio(ToneCapturer())
/// try await server.serve(stream)
/// ```
///
/// A stream runs once: it is started by the server that serves it, and runs until it is stopped or its encoder
/// fails. Losing a source does not end it, and the source can be replaced at any time, see ``switchVideo(to:)``.
public final class LiveStream: Sendable {
  /// Name in the stream's addresses, such as `rtsp://HOST:8554/NAME`; may contain slashes, see ``problem(withName:)``.
  public let name: String
  /// Video settings, constant for the lifetime of the stream; ``videoBitrate`` can be changed separately.
  public let videoSettings: VideoSettings
  /// Audio settings, constant for the lifetime of the stream.
  public let audioSettings: AudioSettings

  enum Phase {
    case idle, starting, running, ended
  }

  struct State: Sendable {
    var phase = Phase.idle
    var video: (any VideoCapturer)?
    var audio: (any AudioCapturer)?
    /// Video sources that are kept while another one is current.
    var standbyVideos: [any VideoCapturer] = []
    var videoQueue: VideoInputQueue?
    var audioQueue: AudioInputQueue?
    /// Adjustment of the video source until the stream is started.
    var adjustment = SourceAdjustment()
    var pastAdjustments = PastAdjustments()
    /// Sources that are being opened, or were given up while they were; each occupies a thread.
    var openings: [SourceOpening] = []
    var threads: [WorkerThread] = []
    /// The last switch by ``attachVideo(_:)`` or ``attachAudio(_:)`` of a running stream.
    var attachment: Task<Void, Never>?
    /// The source that the start could not start.
    var failedSource: MediaKind?
  }

  let state = Mutex(State())
  let shared: StreamState
  /// Serializes switches of one kind, and the start.
  let videoLock = AsyncMutex()
  /// Called around switches whose caller gives no name.
  package let videoSwitchObserver = Mutex<VideoSwitchObserver?>(nil)
  let audioLock = AsyncMutex()
  /// Serializes changes of the renditions.
  let renditionLock = AsyncMutex(maximumWaiters: 16)
  /// Number of switches in progress.
  let switches = Monitor(0)

  /// Creates a stream without sources.
  ///
  /// - Parameters:
  ///   - name: Name in its addresses.
  ///   - video: Video settings; by default those of the source.
  ///   - audio: Audio settings; by default those of the source.
  public init(_ name: String, video: VideoSettings = VideoSettings(), audio: AudioSettings = AudioSettings()) {
    self.name = name
    self.videoSettings = video
    self.audioSettings = audio
    self.shared = StreamState(videoBitrate: video.bitrate)
  }

  /// Codec configuration of each track, video first; empty until the stream has started. Changes when passing through a
  /// source begins or ends.
  public var descriptions: [CodecDescription] {
    let phase = self.state.withLock { $0.phase }
    return phase == .idle || phase == .starting ? [] : self.shared.outputs.descriptions
  }

  /// Snapshots and motion JPEG of the stream; without cost while unused.
  public var snapshots: StreamSnapshots {
    self.shared.snapshots
  }

  /// The main rendition: the stream's own encoding, or its source where that is passed through.
  public var main: Rendition { Rendition(nil, of: self) }

  /// The renditions beside the main one, in the order of their settings; empty before the stream has started. Those that the
  /// stream's size does not allow are left out.
  public var renditions: [Rendition] {
    self.shared.renditions.all.map { Rendition($0, of: self) }
  }

  /// The rendition of a name, ``main`` by ``RenditionName/main``; nil where there is none.
  public func rendition(named name: some StringProtocol) -> Rendition? {
    name == RenditionName.main ? self.main : self.renditions.first { $0.name == name }
  }

  /// Adds an encoding for one output alone, such as a push whose link carries less than the stream: the same frames and profile,
  /// a bitrate of its own. It is not among ``renditions``, costs as much as the stream's encoding while it is used, and no other
  /// output is affected.
  ///
  /// - Parameters:
  ///   - rendition: The rendition whose size and frame rate it has.
  ///   - bitrate: First bitrate, in bits per second.
  ///   - profile: Profile; nil for that of the stream's encoders.
  ///   - maximumSliceLength: Maximum length of a slice in bytes, for packets of one NAL unit; nil without a limit. Where the
  ///     stream's encoder has no such option, libx264 encodes.
  ///   - isForViewers: Whether its output has viewers that request the keyframes that they need: no others are made, frames are encoded
  ///     beside the stream's instead of behind them, the rate control buffer is 0.5 s at most, and the encoder stays open for 10 s after
  ///     its last use.
  /// - Returns: Nil while the stream does not run.
  package func makePrivateRendition(
    like rendition: Rendition, bitrate: Int, profile: H264Profile? = nil, maximumSliceLength: Int? = nil,
    isForViewers: Bool = false
  ) -> Rendition? {
    let encoding = self.shared.renditions.makePrivate(
      like: rendition.encoding, bitrate: bitrate, profile: profile, maximumSliceLength: maximumSliceLength,
      isForViewers: isForViewers)
    return encoding.map { Rendition($0, of: self) }
  }

  /// Ends an encoding that ``makePrivateRendition(like:bitrate:)`` has added.
  package func removePrivateRendition(_ rendition: Rendition) {
    if let encoding = rendition.encoding { self.shared.renditions.removePrivate(encoding) }
  }

  /// Events of the stream; for one consumer. Ends when the stream is stopped.
  public var events: AsyncStream<StreamEvent> {
    self.shared.events
  }

  /// Whether frames are captured but not encoded: viewers see a still frame and the encoder rests, except for a
  /// keyframe for each new viewer. Audio continues.
  public var isEncodingPaused: Bool {
    get { self.shared.isPaused }
    set { self.shared.isPaused = newValue }
  }

  /// Target bitrate of the video in bits per second; a change applies to the next frame.
  public var videoBitrate: Int {
    get { self.shared.videoBitrate }
    set { self.shared.videoBitrate = max(1, newValue) }
  }

  /// Bits per second that the only consumer of the main rendition can take: the encoder makes no more; nil without a limit.
  /// To be set only while there is no other consumer, as ``hasConsumers(besides:)`` reports.
  package var viewerBitrate: Int? {
    get { self.shared.viewerBitrate }
    set { self.shared.viewerBitrate = newValue.map { max(1, $0) } }
  }

  /// Bits per second that the main rendition has now: those of the encoder, or of the source that is passed through.
  package var currentVideoBitrate: Int {
    self.isPassedThrough ? self.averageVideoBitrate ?? self.videoBitrate : self.shared.encoderBitrate
  }

  /// Whether the source of the video is passed through: no bitrate can be chosen.
  package var isPassedThrough: Bool { self.shared.renditions.isMainPassedThrough }

  /// Whether the main rendition has an encoder that heeds ``viewerBitrate`` while it is open.
  package var followsBitrate: Bool {
    !self.isPassedThrough && LibavH264Encoder.followsBitrate(self.videoSettings.encoder)
  }

  /// Whether another output has consumers of the main rendition.
  package func hasConsumers(besides output: any StreamOutput) -> Bool {
    self.shared.outputs.hasConsumers(besides: output)
  }

  /// Average bitrate of the main rendition's video since the start, in bits per second; nil in the first second. Below
  /// ``videoBitrate`` where the frames need less.
  package var averageVideoBitrate: Int? {
    let frameRate = self.descriptions.frameRate?.framesPerSecond ?? 0
    let (bytes, frames) = self.shared.statistics.withLock { ($0.videoBytes, $0.framesOut) }
    guard frameRate > 0, Double(frames) >= frameRate else { return nil }
    return Int(Double(bytes) * 8 * frameRate / Double(frames))
  }

  /// Counters since the start, and the current state of queues, slate and effects.
  public var statistics: StreamStatistics {
    let (video, audio) = self.state.withLock { ($0.videoQueue, $0.audioQueue) }
    var statistics = self.shared.statistics.withLock { $0 }
    statistics.effects = self.shared.effects.statistics
    if let counts = video?.counts {
      statistics.framesIn = counts.framesIn
      statistics.framesThinned = counts.thinned
      statistics.framesDropped = counts.drops
      statistics.videoFramesQueued = counts.queued
    }
    if let counts = audio?.counts {
      statistics.audioBlocksDropped = counts.dropped
      statistics.audioBlocksQueued = counts.blocks
      statistics.audioQueued = counts.queued
    }
    return statistics
  }

  /// Requests a keyframe: for a new viewer, a lost frame, a new segment. Met by the next frame, at most every half
  /// second.
  public func requestKeyframe() {
    self.shared.statistics.withLock { $0.keyframeRequests += 1 }
    self.state.withLock { $0.videoQueue }?.requestKeyframe()
  }

  /// Whether the stream has started and not ended.
  public var isRunning: Bool {
    self.state.withLock { $0.phase == .running } && !self.hasEnded
  }

  /// The source whose start failed, and with it ``start()``; nil when another part failed, or none.
  package var failedSource: MediaKind? {
    self.state.withLock { $0.failedSource }
  }

  /// Whether the stream has ended.
  package var hasEnded: Bool {
    self.shared.outputs.hasEnded
  }
}
