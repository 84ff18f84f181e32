import Media
import NIOCore
import TestSupport

@testable import Pushing

/// A stream, a push of it, a link and a server in virtual time, in steps of 10 ms.
struct SimulatedPush: ~Copyable {
  /// Variation of the link's rate.
  enum Shape: String {
    /// Always the same.
    case constant
    /// Half the rate from a third of the time to two thirds.
    case halved
    /// Between 60% and 140%, another rate every five seconds.
    case wandering
    /// Constant, with pauses of 100 to 600 ms, one in ten seconds, as retransmissions make of lost packets.
    case bursts
    /// Eight times the rate before a third of the time, and after two thirds.
    case narrowed

    /// Shapes of links that are never wider than they are at the start, except ``wandering``.
    static let slow: [Shape] = [.constant, .halved, .wandering, .bursts]
  }

  /// Observations of a run.
  struct Observations {
    var maximumQueueAge = MediaDuration.zero
    var sentBits = 0.0
    var carriedBits = 0.0
    /// Bits that the link has sent during each second.
    var sentBitsOfSeconds: [Double] = []
    var disconnects = 0
    var bitrateChanges: [(time: MediaTime, bitrate: Int)] = []
    /// Rules that were broken.
    var violations: [String] = []
    /// Times at which the server was back, and at which the push sent again.
    var recoveries: [(back: MediaTime, sending: MediaTime)] = []
    var keyframeRequests = 0
    var encodingRequests = 0
    var encodingReleases = 0
    /// Maximum age of the samples in the queue itself.
    var maximumWaitingAge = MediaDuration.zero
  }

  let shape: Shape
  /// Bits per second of the link.
  let linkRate: Double
  let duration: MediaDuration
  /// Bits per second of the stream's video.
  let bitrate: Int
  private var sender: PushSender
  private var numbers: SeededNumbers
  private(set) var observations = Observations()
  private let grantsEncodings: Bool
  private let roundTripTime: MediaDuration
  /// Bytes that the link sends at once after a time in which it was not used, as a token bucket does; and those that it would now.
  private let bucket: Double
  private var tokens = 0.0
  private(set) var now = MediaTime.zero
  /// Bytes that the link has not carried yet, and those that it has carried and whose acknowledgement is on its way.
  private var unsent = 0.0
  private var unacknowledged: [(time: MediaTime, bytes: Double)] = []
  private var factor = 1.0
  private var nextFactor = MediaTime.zero
  private var nextBurst: MediaTime
  private var burstEnd = MediaTime.zero
  private var frame = 0
  private var lastKeyframe = -1000
  private var isKeyframeRequested = false
  private var encoderBitrate: Int
  /// The last frame that was sent on this connection; nil before a keyframe.
  private var lastSentFrame: Int?
  private var needsConfiguration = true
  private var isServerUp = true
  private var serverIsBackAt: MediaTime?
  private var connectAt: MediaTime?
  private var lastAudio = MediaTime.zero

  /// - Parameters:
  ///   - roundTripTime: Time from the end of the link back: what has left is known so much later.
  ///   - bucket: Number of bytes that the link sends at once after a time in which it was not used.
  ///   - grantsEncodings: Whether an encoding of its own is free.
  init(
    shape: Shape, linkRate: Double, bitrate: Int, minimumBitrate: Int?, seconds: Int64, seed: UInt64,
    roundTripTime: MediaDuration = .zero, bucket: Int = 0, grantsEncodings: Bool = true
  ) {
    self.bucket = Double(bucket)
    self.roundTripTime = roundTripTime
    self.grantsEncodings = grantsEncodings
    self.shape = shape
    self.linkRate = linkRate
    self.bitrate = bitrate
    self.encoderBitrate = bitrate
    self.duration = .seconds(seconds)
    self.numbers = SeededNumbers(seed: seed)
    let jitter = SendableNumbers(seed: seed)
    self.sender = PushSender(
      settings: PushSettings(bitrate: bitrate, minimumBitrate: minimumBitrate), makeRandom: { jitter.next() })
    self.nextBurst = .zero + .seconds(Int64.random(in: 5...15, using: &self.numbers))
  }

  var status: PushStatus { self.sender.status(at: self.now) }

  /// Runs the stream, with a server that is killed at some times for some duration.
  mutating func run(
    kills: [(at: MediaDuration, for: MediaDuration)] = [],
    while condition: (borrowing SimulatedPush) -> Bool = { _ in true }
  ) {
    if self.now == .zero { self.perform(self.sender.start(now: self.now)) }
    let step = MediaDuration.milliseconds(10)
    var steps = 0
    while self.now - MediaTime.zero < self.duration, condition(self) {
      self.now += step
      for kill in kills {
        if self.now - MediaTime.zero == kill.at { self.killServer() }
        if self.now - MediaTime.zero == kill.at + kill.for { self.restartServer() }
      }
      if let time = self.connectAt, self.now >= time {
        self.connectAt = nil
        self.connect()
      }
      self.produce()
      let hasSent = self.drain(for: step)
      if hasSent || self.sender.nextDeadline.map({ $0 <= self.now }) == true {
        let unsent = self.unacknowledged.reduce(self.unsent) { $0 + $1.bytes }
        self.perform(
          self.sender.update(
            unsentByteCount: Int(unsent.rounded(.up)), roundTripTime: self.roundTripTime, now: self.now))
      }
      steps += 1
      if steps % 10 == 0 {
        self.observations.maximumQueueAge = max(self.observations.maximumQueueAge, self.status.queueAge)
        self.observations.maximumWaitingAge = max(
          self.observations.maximumWaitingAge, self.sender.waitingAge(at: self.now))
      }
      if steps % 100 == 0 {
        let before = self.observations.sentBitsOfSeconds.reduce(0, +)
        self.observations.sentBitsOfSeconds.append(self.observations.sentBits - before)
      }
    }
  }

  private mutating func killServer() {
    self.isServerUp = false
    self.clearConnection()
    self.perform(self.sender.handleDisconnected("the server has closed the connection", now: self.now))
  }

  private mutating func clearConnection() {
    (self.unsent, self.unacknowledged) = (0, [])
  }

  private mutating func restartServer() {
    self.isServerUp = true
    self.serverIsBackAt = self.now
  }

  private mutating func connect() {
    guard self.isServerUp else {
      return self.perform(self.sender.handleDisconnected("connection refused", now: self.now))
    }
    self.clearConnection()
    (self.lastSentFrame, self.needsConfiguration) = (nil, true)
    self.perform(self.sender.handleConnected(now: self.now))
  }

  /// A frame each 33 ms, a keyframe each 2 s or on request, audio each 20 ms.
  private mutating func produce() {
    if (self.now - self.lastAudio) >= .milliseconds(20) {
      self.lastAudio = self.now
      let sample = audio(self.now.ticks(timescale: 1000), size: 160)
      self.perform(self.sender.enqueue(sample, now: self.now))
    }
    guard self.now.ticks(timescale: 30) > self.frame else { return }
    self.frame += 1
    let isKeyframe = self.frame - self.lastKeyframe >= 60 || self.isKeyframeRequested
    if isKeyframe { (self.lastKeyframe, self.isKeyframeRequested) = (self.frame, false) }
    // A keyframe has the bits of six frames; the others make up for it.
    let mean = Double(self.encoderBitrate) / 8 / 30
    let variation = Double.random(in: 0.8...1.2, using: &self.numbers)
    let size = max(20, Int(mean * (isKeyframe ? 6 : 0.915) * variation))
    var sample = video(Int64(self.frame), isKeyframe: isKeyframe, size: size)
    sample.decodeTime = MediaTime(nanoseconds: Int64(self.frame))
    self.perform(self.sender.enqueue(sample, now: self.now))
  }

  /// Sends what the link carries in a time; returns whether anything was acknowledged.
  private mutating func drain(for span: MediaDuration) -> Bool {
    switch self.shape {
    case .constant, .bursts: break
    case .halved:
      let share = (self.now - MediaTime.zero).seconds / self.duration.seconds
      self.factor = share > 1.0 / 3 && share < 2.0 / 3 ? 0.5 : 1
    case .narrowed:
      let share = (self.now - MediaTime.zero).seconds / self.duration.seconds
      self.factor = share > 1.0 / 3 && share < 2.0 / 3 ? 1 : 8
    case .wandering:
      if self.now >= self.nextFactor {
        self.factor = Double.random(in: 0.6...1.4, using: &self.numbers)
        self.nextFactor = self.now + .seconds(5)
      }
    }
    if self.shape == .bursts, self.now >= self.nextBurst {
      self.burstEnd = self.now + .milliseconds(Int64.random(in: 100...600, using: &self.numbers))
      self.nextBurst = self.now + .seconds(Int64.random(in: 5...15, using: &self.numbers))
    }
    let bits = self.now < self.burstEnd ? 0 : self.linkRate * self.factor * span.seconds
    self.observations.carriedBits += bits
    self.tokens = min(self.tokens + bits / 8, max(bits / 8, self.bucket))
    let sent = min(self.unsent, self.tokens)
    self.tokens -= sent
    self.unsent -= sent
    self.observations.sentBits += sent * 8
    if sent > 0 { self.unacknowledged.append((self.now, sent)) }
    let acknowledged = self.now - self.roundTripTime
    let count = self.unacknowledged.prefix(while: { $0.time <= acknowledged }).count
    self.unacknowledged.removeFirst(count)
    return count > 0
  }

  private mutating func perform(_ actions: [PushSender.Action]) {
    for action in actions {
      switch action {
      case .connect: self.connectAt = self.now + .milliseconds(50) + self.roundTripTime * 4
      case .disconnect, .abort:
        self.observations.disconnects += 1
        self.clearConnection()
      case .sendConfiguration: self.needsConfiguration = false
      case .send(let sample): self.send(sample)
      case .requestKeyframe:
        self.isKeyframeRequested = true
        self.observations.keyframeRequests += 1
      case .requestEncoding(let bitrate):
        self.observations.encodingRequests += 1
        guard self.grantsEncodings else { continue }
        self.observations.bitrateChanges.append((self.now, bitrate))
        self.perform(self.sender.encodingGranted(now: self.now))
      case .setBitrate(let bitrate):
        if bitrate != self.encoderBitrate { self.observations.bitrateChanges.append((self.now, bitrate)) }
        self.encoderBitrate = bitrate
      case .releaseEncoding:
        self.observations.encodingReleases += 1
        self.encoderBitrate = self.bitrate
        self.observations.bitrateChanges.append((self.now, self.bitrate))
      }
    }
  }

  private mutating func send(_ sample: EncodedSample) {
    if self.connectAt != nil || !self.isServerUp { self.violate("a sample without a connection") }
    self.unsent += Double(sample.payload.readableBytes)
    guard sample.kind == .video else { return }
    if self.needsConfiguration { self.violate("a frame before the configuration") }
    let index = Int(sample.decodeTime.nanoseconds)
    if !sample.isKeyframe, index != (self.lastSentFrame ?? -1) + 1 { self.violate("frame \(index) cannot be decoded") }
    self.lastSentFrame = index
    if let back = self.serverIsBackAt {
      self.observations.recoveries.append((back, self.now))
      self.serverIsBackAt = nil
    }
  }

  private mutating func violate(_ rule: String) {
    self.observations.violations.append("\(self.now.seconds) s: \(rule)")
  }
}

/// Random numbers for a closure.
// Safe because a simulation runs on one thread.
private final class SendableNumbers: @unchecked Sendable {
  private var numbers: SeededNumbers

  init(seed: UInt64) { self.numbers = SeededNumbers(seed: seed &+ 1000) }

  func next() -> UInt64 { self.numbers.next() }
}
