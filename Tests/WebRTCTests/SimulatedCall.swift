import Media
import RTP
import TestSupport
import WebRTCPeers

@testable import WebRTC

/// A camera with one viewer in virtual time: an encoder that follows the estimate, the pacer, a ``SimulatedPath`` and the
/// estimator, as a session joins them.
struct SimulatedCall {
  /// State at a time.
  struct Moment {
    var time: Double
    var estimate: Int
    var encoder: Int
    /// Seconds in the queue of the path, and in the pacer.
    var queue: Double
    var pacer: Double
  }

  private struct Frame {
    var packetCount: Int
    var packetLength: Int
  }

  static let audioLength = 160
  static let packetLength = 1200

  var estimator: BandwidthEstimator
  var pacer = Pacer<Int>()
  var path: SimulatedPath
  private var numbers: SplitMix
  private var frames: [Frame] = []
  private var encoderBitrate: Double
  private var target: Double
  private var lastKeyframe = -1.0
  private let followsEstimate: Bool
  /// Whether audio packets are sent too; they come at any bitrate, and feedback with them.
  var hasAudio = true
  /// Factor of a keyframe's bytes.
  var keyframeFactor = 5.0
  private var rule: SoleViewerBitrate
  private var feedback: [(feedback: RTCPTransportWideFeedback, time: MediaTime)] = []
  private(set) var moments: [Moment] = []
  /// Bytes that arrived, without padding, by tenth of a second of arrival.
  private(set) var arrivedBytes = [Int](repeating: 0, count: 1200)
  private var changeTimes: [Double] = []
  private(set) var keyframeCount = 0
  private(set) var paddingBytes = 0
  private(set) var sentFrames = 0
  private(set) var encodedFrames = 0

  init(
    _ conditions: SimulatedPath.Conditions, seed: UInt64, bitrate: Int = 1_000_000,
    bounds: ClosedRange<Int> = 100_000...4_500_000, minimumEncoder: Int = 50_000, encoder: Int? = nil
  ) {
    self.path = SimulatedPath(conditions, seed: seed &* 2 &+ 1)
    self.numbers = SplitMix(seed: seed &* 2)
    self.estimator = BandwidthEstimator(bitrate: bitrate, bounds: bounds)
    self.followsEstimate = encoder == nil
    self.rule = SoleViewerBitrate(bounds: minimumEncoder...bounds.upperBound)
    self.encoderBitrate = Double(encoder ?? bitrate)
    self.target = self.encoderBitrate
  }

  /// Runs for some seconds from the start.
  mutating func run(seconds: Double) {
    let end = MediaTime.zero + .milliseconds(Int64(seconds * 1000))
    var nextFrame = MediaTime.zero
    var nextAudio = MediaTime.zero
    var nextTimer = MediaTime.zero
    while true {
      var now = min(nextFrame, nextAudio, nextTimer, self.path.nextFeedback)
      if let time = self.feedback.first?.time { now = min(now, time) }
      if let deadline = self.pacer.nextDeadline { now = min(now, max(deadline, self.now)) }
      self.now = max(now, self.now)
      guard self.now < end else { return }
      if self.path.nextFeedback <= self.now, let feedback = self.path.makeFeedback() { self.feedback.append(feedback) }
      while let first = self.feedback.first, first.time <= self.now {
        self.feedback.removeFirst()
        self.estimator.handle(first.feedback, at: self.now)
      }
      if nextTimer <= self.now {
        self.estimator.handleTimeout(at: self.now)
        nextTimer += .milliseconds(50)
        self.moments.append(
          Moment(
            time: self.now.seconds, estimate: self.estimator.bitrate, encoder: Int(self.target),
            queue: self.path.queueDelay(at: self.now), pacer: self.pacer.delay(at: self.now).seconds))
      }
      if let cluster = self.estimator.startProbe(at: self.now) { self.pacer.start(cluster, at: self.now) }
      self.pacer.setBitrate(self.estimator.bitrate, capacity: self.estimator.capacity)
      if nextAudio <= self.now {
        if self.hasAudio, let arrival = self.path.send(nil, byteCount: Self.audioLength, at: self.now) {
          self.arrivedBytes[Int(arrival.seconds * 10)] += Self.audioLength
        }
        nextAudio += .milliseconds(20)
      }
      if nextFrame <= self.now {
        self.encode()
        nextFrame += .microseconds(33_333)
      }
      self.drainPacer()
    }
  }

  private(set) var now = MediaTime.zero

  private mutating func encode() {
    if self.followsEstimate {
      let change = self.rule.update(
        estimate: self.estimator.bitrate, audioBitrate: Self.audioLength * 8 * 50, at: self.now)
      if let change {
        self.target = Double(change)
        self.changeTimes.append(self.now.seconds)
      }
      // The rate control of an encoder needs some frames.
      self.encoderBitrate += (self.target - self.encoderBitrate) * 0.4
    }
    let time = self.now.seconds
    let isKeyframe = time - self.lastKeyframe >= 2 || (self.pacer.needsKeyframe && time - self.lastKeyframe >= 0.5)
    var byteCount = self.encoderBitrate / 8 / 30 * Double.random(in: 0.75...1.25, using: &self.numbers)
    // A keyframe has several times the bytes of a frame; the others give way for it.
    byteCount *= isKeyframe ? self.keyframeFactor : (61 - self.keyframeFactor) / 60
    if isKeyframe {
      self.lastKeyframe = time
      self.keyframeCount += 1
    }
    let count = max(1, Int((byteCount / Double(Self.packetLength)).rounded(.up)))
    let length = max(60, Int(byteCount) / count)
    self.frames.append(Frame(packetCount: count, packetLength: length))
    self.encodedFrames += 1
    self.pacer.enqueue(
      self.frames.count - 1, .video(isKeyframe: isKeyframe), byteCount: count * length, packetCount: count,
      at: self.now)
  }

  private mutating func drainPacer() {
    while let release = self.pacer.release(at: self.now) {
      switch release {
      case .packets(let index, _, let packets, let probe):
        let frame = self.frames[index]
        for _ in packets { self.send(frame.packetLength, probe: probe, isMedia: true) }
        if packets.upperBound == frame.packetCount { self.sentFrames += 1 }
      case .padding(let byteCount, let probe):
        self.paddingBytes += byteCount
        self.send(byteCount, probe: probe, isMedia: false)
      }
    }
  }

  private mutating func send(_ byteCount: Int, probe: UInt32, isMedia: Bool) {
    let number = self.estimator.send(byteCount: byteCount, probe: probe, at: self.now)
    guard let arrival = self.path.send(number.rawValue, byteCount: byteCount, at: self.now), isMedia else { return }
    self.arrivedBytes[Int(arrival.seconds * 10)] += byteCount
  }

  // MARK: Measurements

  /// Mean bitrate that arrives, without padding, between two times in seconds.
  func arrivedBitrate(_ times: ClosedRange<Double>) -> Double {
    let tenths = Int(times.lowerBound * 10)..<Int(times.upperBound * 10)
    return tenths.reduce(0.0) { $0 + Double(self.arrivedBytes[$1]) } * 8 / (Double(tenths.count) / 10)
  }

  /// Number of changes of the encoder's bitrate between two times.
  func changes(_ times: ClosedRange<Double>) -> Int { self.changeTimes.count { times.contains($0) } }

  func moments(_ times: ClosedRange<Double>) -> [Moment] { self.moments.filter { times.contains($0.time) } }

  /// Maximum delay in the queue of the path between two times.
  func maximumQueue(_ times: ClosedRange<Double>) -> Double { self.moments(times).map(\.queue).max() ?? 0 }

  /// Share of moments between two times at which queue and pacer delay more than a limit.
  func shareDelayed(_ times: ClosedRange<Double>, beyond limit: Double) -> Double {
    let moments = self.moments(times)
    return Double(moments.count { $0.queue + $0.pacer > limit }) / Double(max(1, moments.count))
  }
}
