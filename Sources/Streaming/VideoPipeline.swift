internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization

/// The way of the pictures from the mailbox through the canvas into the encoder. It lives on one thread.
///
/// When the source gives nothing for a while, or has ended, viewers see a slate at the stream's frame rate. When
/// encoding is paused, or the source is slower than a keyframe request may wait, the last picture is encoded once more.
final class VideoPipeline {
  private let mailbox: VideoMailbox
  private let shared: StreamState
  private let settings: VideoSettings
  private let frameInterval: MediaDuration
  private let canvas: Canvas
  private let encoder: any VideoEncoder
  private let emit: (EncodedSample) -> Void
  private let clock = StreamClock.system

  private var requests: KeyframeRequests
  private var pictures: PictureFeed
  private var bitrate: Int
  /// The last picture from the source; while encoding is paused, the one that stands still.
  private var lastPicture: VideoFrame?
  /// How long after its capture the last frame arrived.
  private var captureDelay = MediaDuration.zero
  /// The timestamp of the last picture encoded.
  private var lastTime: MediaTime?
  /// When it was encoded.
  private var lastEncoding: MediaTime?
  /// When the last frame arrived, or the pipeline started.
  private var lastArrival: MediaTime
  private lazy var slate = Slate.picture(format: self.canvas.format)
  /// When the next slate is to be encoded; nil while the source gives pictures.
  private var nextSlate: MediaTime?

  /// Opens the encoder for a started source, once its first frame tells how it is turned.
  init(
    source: VideoFormat,
    mailbox: VideoMailbox,
    settings: VideoSettings,
    shared: StreamState,
    emit: @escaping (EncodedSample) -> Void
  ) throws(CodecError) {
    let frameRate = min(settings.frameRate ?? source.frameRate, source.frameRate)
    let firstFrame = mailbox.firstOrientation(until: StreamClock.system.now() + settings.sourceTimeout)
    let isTurned = firstFrame?.swapsWidthAndHeight ?? false
    let format = VideoFormat(
      width: settings.width ?? max(16, (isTurned ? source.height : source.width) & ~1),
      height: settings.height ?? max(16, (isTurned ? source.width : source.height) & ~1),
      frameRate: frameRate,
      colorMatrix: source.pixelFormat.isYCbCr ? source.colorMatrix : .bt601)
    self.mailbox = mailbox
    self.shared = shared
    self.settings = settings
    self.frameInterval = frameRate.frameInterval
    self.canvas = Canvas(format: format, scaling: settings.scaling)
    self.bitrate = shared.videoBitrate
    self.requests = KeyframeRequests(longestInterval: settings.keyframeInterval)
    self.pictures = PictureFeed(frameInterval: frameRate.frameInterval)
    self.encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: format.width,
        height: format.height,
        frameRate: frameRate,
        colorMatrix: format.colorMatrix,
        bitrate: self.bitrate,
        keyframeInterval: settings.keyframeInterval,
        encoder: settings.encoder))
    self.emit = emit
    // Without a frame until now the slate is due.
    self.lastArrival = self.clock.now() - (firstFrame == nil ? settings.sourceTimeout : .zero)
    mailbox.expect(source, limit: frameRate < source.frameRate ? frameRate : nil)
    shared.pictures.connect(
      format: format, frameInterval: frameRate.frameInterval,
      ask: { [weak mailbox] in mailbox?.requestPicture(after: $0) })
    shared.statistics.withLock { $0.videoEncoders += 1 }
  }

  deinit {
    self.shared.statistics.withLock { $0.videoEncoders -= 1 }
  }

  /// Runs until the mailbox is closed.
  ///
  /// - Parameter started: Called once, with the description, when the first sample is out.
  /// - Throws: When the source fails before its first picture, or the encoder fails.
  func run(started: (CodecDescription) -> Void) throws(StreamError) {
    var isAnnounced = false
    while true {
      switch self.mailbox.next(until: self.deadline) {
      case .closed: return
      case .keyframeRequested: self.requests.request()
      case .pictureRequested(let number):
        self.handOver(self.pictures.request(after: number, at: self.clock.now(), isStill: self.shared.isPaused))
      case .frame(let frame): try self.handle(frame)
      case .ended(let error): try self.handleEnd(error)
      case nil: try self.handleDeadline(now: self.clock.now())
      }
      if !isAnnounced, self.lastTime != nil, let description = self.encoder.description {
        isAnnounced = true
        started(.h264(description))
      }
    }
  }

  /// When something is to be done if no frame comes before.
  private var deadline: MediaTime {
    var deadline = self.nextSlate ?? (self.lastArrival + self.settings.sourceTimeout)
    if let repetition = self.repetitionTime { deadline = min(deadline, repetition) }
    if let picture = self.pictures.deadline { deadline = min(deadline, picture) }
    return deadline
  }

  /// When the last picture is encoded again: to meet a keyframe request that the source is too slow for, and now and
  /// then while encoding is paused, since players take a connection without data for a broken one. Else nil.
  private var repetitionTime: MediaTime? {
    guard let lastEncoding, self.lastPicture != nil, self.nextSlate == nil else { return nil }
    let still = self.shared.isPaused ? lastEncoding + self.settings.pausedInterval : nil
    guard let due = self.requests.dueTime else { return still }
    // A frame that comes meets the request, unless encoding is paused.
    return still.map { min($0, due) } ?? max(due, self.lastArrival + self.frameInterval * 3 / 2)
  }

  private func handle(_ frame: VideoFrame) throws(StreamError) {
    let now = self.clock.now()
    var frame = frame
    frame.timestamp = frame.timestamp.checked(at: now)
    if let lastTime, frame.timestamp <= lastTime {
      return self.mailbox.drop(frame, reason: .late)
    }
    self.lastArrival = now
    self.captureDelay = now - frame.timestamp
    self.showSlate(from: nil)
    let isPaused = self.shared.isPaused
    if !isPaused || self.lastPicture == nil { self.lastPicture = frame }
    if !isPaused { try self.encode(frame, now: now) }
  }

  /// The source has ended: before its first picture that is a failure, later the slate takes over.
  private func handleEnd(_ error: CaptureError?) throws(StreamError) {
    guard self.lastTime != nil else {
      throw .capture(
        error
          ?? CaptureError(
            .missingTrack, source: "video source", cause: "it ended before its first picture",
            nextStep: "check that it has pictures"))
    }
    self.shared.report(.sourceEnded(.video, error))
    self.showSlate(from: self.clock.now() + Self.timeToStop)
  }

  /// How long the slate waits after the end of the source: an owner who stops the stream then ends it with its last
  /// picture.
  private static let timeToStop = MediaDuration.milliseconds(250)

  private func handleDeadline(now: MediaTime) throws(StreamError) {
    self.handOver(self.pictures.handleDeadline(at: now))
    if let repetitionTime, now >= repetitionTime, var picture = self.lastPicture {
      // As far behind the present as frames are when they come, so that the next one is not before it.
      picture.timestamp = max(now - self.captureDelay, (self.lastTime ?? .zero) + .milliseconds(1))
      try self.encode(picture, now: now)
    } else if let nextSlate, now >= nextSlate {
      self.showSlate(from: max(nextSlate + self.frameInterval, now))
      guard self.lastTime.map({ $0 < now }) ?? true, !self.shared.isPaused || self.requests.forcesKeyframe(at: now)
      else {
        return
      }
      var picture = self.slate
      picture.timestamp = now
      try self.encode(picture, now: now)
    } else if self.nextSlate == nil, now >= self.lastArrival + self.settings.sourceTimeout {
      self.shared.report(.sourceSilent)
      self.showSlate(from: now)
    }
  }

  private func showSlate(from time: MediaTime?) {
    if (self.nextSlate == nil) != (time == nil) {
      self.shared.statistics.withLock { $0.isSlateShown = time != nil }
      if time == nil { self.shared.report(.sourceBack) }
    }
    self.nextSlate = time
  }

  /// Gives a picture to those who look at single ones.
  private func handOver(_ picture: ShownPicture?) {
    if let picture { self.shared.pictures.offer(picture) }
  }

  private func encode(_ frame: VideoFrame, now: MediaTime) throws(StreamError) {
    guard let picture = self.canvas.draw(frame) else {
      return self.mailbox.drop(frame, reason: .late)
    }
    let bitrate = self.shared.videoBitrate
    if bitrate != self.bitrate {
      self.bitrate = bitrate
      self.encoder.setBitrate(bitrate)
    }
    self.lastTime = picture.timestamp
    self.lastEncoding = now
    self.handOver(self.pictures.show(picture, at: now, isWanted: self.shared.pictures.isPictureWanted))
    let start = self.clock.now()
    do throws(CodecError) {
      try self.encoder.encode(picture, forcesKeyframe: self.requests.forcesKeyframe(at: now)) { sample in
        let end = self.clock.now()
        if sample.isKeyframe { self.requests.keyframeEncoded(at: now) }
        self.shared.statistics.withLock {
          $0.framesEncoded += 1
          $0.keyframes += sample.isKeyframe ? 1 : 0
          $0.videoBytes += sample.payload.readableBytes
          $0.videoEncodeTime = $0.videoEncodeTime + (end - start)
          $0.videoDelay = end - sample.presentationTime
        }
        self.emit(sample)
      }
    } catch {
      throw .codec(error)
    }
  }
}
