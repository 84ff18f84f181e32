package import Media

/// Lets audio frames wait for the next access unit, so that both leave in one write. Pure: `now` is an argument.
///
/// An access unit never waits. An audio frame waits at most one frame interval, at least 20 and at most 40 ms; without a
/// video track it does not wait.
package struct DeliveryAssembler<Packets: SharedMedia> {
  /// Delivery and timer that follow from a sample or a timer.
  package struct Output {
    /// Packets that leave now; nil while they wait for an access unit.
    package var delivery: SharedDelivery<Packets>?
    /// Time at which ``handleTimer(at:)`` is due; nil when a timer runs already, or none is needed.
    package var timer: MediaTime?
  }

  /// Maximum time that audio waits.
  package let maximumWait: MediaDuration
  /// Number of the last delivery.
  package private(set) var lastNumber = 0
  private var audio: [Packets] = []
  /// Time at which the first of `audio` was appended.
  private var waitingSince = MediaTime.zero
  private var isTimerRunning = false

  /// - Parameter frameRate: The video track's frames per second; nil without video.
  package init(frameRate: FrameRate?) {
    self.maximumWait = frameRate.map { min(max(.milliseconds(20), $0.frameInterval), .milliseconds(40)) } ?? .zero
  }

  /// Appends packets.
  ///
  /// - Parameter discards: Number of times that earlier video was discarded.
  package mutating func append(_ packets: Packets, discards: Int, at now: MediaTime) -> Output {
    if packets.kind == .video {
      return Output(delivery: self.makeDelivery(audio: self.dequeueAudio(), video: packets, discards: discards))
    }
    if self.audio.isEmpty { self.waitingSince = now }
    self.audio.append(packets)
    return self.output(at: now)
  }

  /// Returns the audio that has waited long enough.
  package mutating func handleTimer(at now: MediaTime) -> Output {
    self.isTimerRunning = false
    return self.output(at: now)
  }

  /// Returns the audio that waits, at the end of the stream.
  package mutating func flush() -> SharedDelivery<Packets>? {
    self.audio.isEmpty ? nil : self.makeDelivery(audio: self.dequeueAudio())
  }

  /// Makes a delivery of packets that do not wait.
  package mutating func deliver(_ packets: Packets, discards: Int) -> SharedDelivery<Packets> {
    packets.kind == .video
      ? self.makeDelivery(audio: [], video: packets, discards: discards) : self.makeDelivery(audio: [packets])
  }

  private mutating func makeDelivery(
    audio: [Packets], video: Packets? = nil, discards: Int = 0
  ) -> SharedDelivery<Packets> {
    self.lastNumber += 1
    return SharedDelivery(number: self.lastNumber, audio: audio, video: video, discards: discards)
  }

  private mutating func output(at now: MediaTime) -> Output {
    guard !self.audio.isEmpty else { return Output() }
    let deadline = self.waitingSince + self.maximumWait
    guard now < deadline else { return Output(delivery: self.flush()) }
    guard !self.isTimerRunning else { return Output() }
    self.isTimerRunning = true
    return Output(timer: deadline)
  }

  private mutating func dequeueAudio() -> [Packets] {
    defer { self.audio = [] }
    return self.audio
  }
}
