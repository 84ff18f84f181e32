import Media
import NIOCore
import Testing

@testable import Pushing

@Suite("Sender of a push")
struct PushSenderTests {
  /// A sender without jitter: half of the range.
  private static func sender(_ settings: PushSettings = PushSettings(bitrate: 2_000_000)) -> PushSender {
    PushSender(settings: settings, makeRandom: { 0 })
  }

  /// Actions as words.
  private static func words(_ actions: [PushSender.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .connect: "connect"
      case .disconnect: "disconnect"
      case .abort: "abort"
      case .sendConfiguration: "configuration"
      case .send(let sample):
        "\(sample.kind == .audio ? "A" : sample.isKeyframe ? "K" : "V")\(sample.decodeTime.ticks(timescale: 1000))"
      case .requestKeyframe: "keyframe?"
      case .requestEncoding(let bitrate): "encoding? \(bitrate)"
      case .setBitrate(let bitrate): "bitrate \(bitrate)"
      case .releaseEncoding: "release"
      }
    }
  }

  @Test func `nothing is sent before the server accepts, and then the configuration and a keyframe first`() {
    var sender = Self.sender()
    #expect(Self.words(sender.start(now: .zero)) == ["connect"])
    #expect(sender.start(now: .zero).isEmpty)
    #expect(sender.enqueue(video(0, isKeyframe: true), now: .zero).isEmpty)
    #expect(Self.words(sender.handleConnected(now: time(10))) == ["keyframe?"])
    #expect(sender.enqueue(audio(10), now: time(10)).isEmpty)
    #expect(sender.enqueue(video(20), now: time(20)).isEmpty)
    #expect(Self.words(sender.enqueue(video(30, isKeyframe: true), now: time(30))) == ["configuration", "K30"])
    #expect(Self.words(sender.enqueue(audio(31), now: time(31))) == ["A31"])
    let status = sender.status(at: time(31))
    #expect(status.phase == .sending && status.sentByteCount == 1170 && status.droppedFrames == 0)
  }

  @Test func `a stream without video starts with its first audio`() {
    var sender = Self.sender(PushSettings(hasVideo: false, bitrate: 64_000))
    _ = sender.start(now: .zero)
    #expect(sender.handleConnected(now: .zero).isEmpty)
    #expect(Self.words(sender.enqueue(audio(1), now: time(1))) == ["configuration", "A1"])
  }

  @Test func `a quarter second is passed to the connection, the rest waits`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    // 62,500 bytes are a quarter second.
    _ = sender.enqueue(video(0, isKeyframe: true, size: 60_000), now: .zero)
    #expect(Self.words(sender.enqueue(video(1, size: 30_000), now: time(1))) == ["V1"])
    #expect(sender.enqueue(video(2), now: time(2)).isEmpty)
    #expect(sender.update(unsentByteCount: 70_000, now: time(50)).isEmpty)
    #expect(sender.status(at: time(50)).queueAge == .milliseconds(50))
    #expect(Self.words(sender.update(unsentByteCount: 20_000, now: time(60))) == ["V2"])
    #expect(sender.status(at: time(60)).queueAge == .milliseconds(59))
    #expect(sender.update(unsentByteCount: 0, now: time(70)).isEmpty)
    #expect(sender.status(at: time(70)).queueAge == .zero)
  }

  @Test func `what is dropped is counted, and the next keyframe of the stream is waited for`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 100_000), now: .zero)
    for index in 1...10 { #expect(sender.enqueue(video(Int64(index)), now: time(Int64(index))).isEmpty) }
    _ = sender.enqueue(audio(11), now: time(11))
    // A request would change what all viewers of the stream get.
    #expect(sender.update(unsentByteCount: 90_000, now: time(1502)).isEmpty)
    #expect(sender.enqueue(video(1503), now: time(1503)).isEmpty)
    #expect(sender.status(at: time(1503)).droppedFrames == 11)
    #expect(sender.enqueue(video(2100), now: time(2100)).isEmpty)
    #expect(Self.words(sender.enqueue(video(2600), now: time(2600))) == ["keyframe?"])
    #expect(sender.enqueue(video(2601), now: time(2601)).isEmpty)
    #expect(sender.status(at: time(2600)).droppedAudioFrames == 1)
    #expect(sender.enqueue(video(2700, isKeyframe: true), now: time(2700)).isEmpty)
    #expect(Self.words(sender.update(unsentByteCount: 0, now: time(2710))) == ["K2700"])
  }

  @Test func `delays double from 0.5 s to 24 s for ever, and start at 0.5 s again after 5 s of sending`() {
    var sender = PushSender(settings: PushSettings(bitrate: 1), makeRandom: { .max / 2 })
    var now = MediaTime.zero
    func delay() -> Double {
      guard case .waiting(let until) = sender.status(at: now).phase else { return -1 }
      return (until - now).seconds
    }
    _ = sender.start(now: now)
    var delays: [Double] = []
    for _ in 0..<100 {
      #expect(sender.handleDisconnected("refused", now: now).isEmpty)
      delays.append(delay())
      now = sender.nextDeadline ?? now
      #expect(Self.words(sender.update(now: now)) == ["connect"])
    }
    for (found, nominal) in zip(delays, [0.5, 1, 2, 4, 8, 16] + Array(repeating: 24, count: 94)) {
      #expect(abs(found - nominal) <= nominal / 5 + 1e-9)
    }
    #expect(sender.status(at: now).failedAttempts == 100)
    // A server that accepts and closes at once is not asked more often.
    _ = sender.handleConnected(now: now)
    now += .milliseconds(4_999)
    _ = sender.handleDisconnected("closed", now: now)
    #expect(delay() >= 19)
    now = sender.nextDeadline ?? now
    _ = sender.update(now: now)
    _ = sender.handleConnected(now: now)
    now += .seconds(5)
    _ = sender.handleDisconnected("closed", now: now)
    #expect(delay() <= 0.6)
    #expect(sender.status(at: now).reconnects == 1)
    #expect(sender.status(at: now).lastFailure == "closed")
  }

  @Test func `after a new connection the configuration and a keyframe come first again, and nothing old`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 100_000), now: .zero)
    _ = sender.enqueue(video(1), now: time(1))
    _ = sender.handleDisconnected("closed", now: time(2))
    #expect(sender.enqueue(video(3, isKeyframe: true), now: time(3)).isEmpty)
    _ = sender.update(now: sender.nextDeadline ?? .zero)
    #expect(Self.words(sender.handleConnected(now: time(600))) == ["keyframe?"])
    #expect(sender.enqueue(video(601), now: time(601)).isEmpty)
    #expect(Self.words(sender.enqueue(video(602, isKeyframe: true), now: time(602))) == ["configuration", "K602"])
  }

  @Test func `an attempt that hangs and a connection without progress are given up`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    #expect(sender.nextDeadline == time(60_000))
    #expect(Self.words(sender.update(now: time(60_000))) == ["disconnect"])
    _ = sender.update(now: sender.nextDeadline ?? .zero)
    _ = sender.handleConnected(now: time(61_000))
    _ = sender.enqueue(video(61_000, isKeyframe: true), now: time(61_000))
    for now in stride(from: Int64(61_100), to: 71_000, by: 100) {
      #expect(sender.update(unsentByteCount: 500, now: time(now)).isEmpty == true)
    }
    #expect(Self.words(sender.update(unsentByteCount: 500, now: time(71_200))) == ["disconnect"])
    #expect(sender.status(at: time(71_200)).lastFailure == "nothing can be sent any more")
  }

  @Test func `stopping ends everything, from any state`() {
    for steps in 0...3 {
      var sender = Self.sender()
      if steps > 0 { _ = sender.start(now: .zero) }
      if steps > 1 { _ = sender.handleConnected(now: .zero) }
      if steps > 2 { _ = sender.handleDisconnected("x", now: .zero) }
      #expect(Self.words(sender.stop(now: .zero)) == (steps == 1 || steps == 2 ? ["disconnect"] : []))
      #expect(sender.nextDeadline == nil)
      #expect(sender.enqueue(video(0, isKeyframe: true), now: .zero).isEmpty)
      #expect(sender.update(now: time(1_000_000)).isEmpty)
      #expect(sender.handleConnected(now: .zero).isEmpty)
      #expect(Self.words(sender.start(now: .zero)) == ["connect"])
    }
  }

  @Test func `a new configuration is sent before the next keyframe`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true), now: .zero)
    sender.configurationChanged()
    // The frame cannot be decoded with either configuration.
    #expect(sender.enqueue(video(1), now: time(1)).isEmpty)
    #expect(Self.words(sender.enqueue(video(2, isKeyframe: true), now: time(2))) == ["configuration", "K2"])
  }

  @Test func `a new configuration of audio requests the keyframe before which it is sent`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    #expect(sender.audioConfigurationChanged(now: .zero).isEmpty)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true), now: .zero)
    #expect(Self.words(sender.audioConfigurationChanged(now: time(1500))) == ["keyframe?"])
    #expect(sender.enqueue(video(1501), now: time(1501)).isEmpty)
    #expect(Self.words(sender.enqueue(video(1550, isKeyframe: true), now: time(1550))) == ["configuration", "K1550"])
  }

  @Test func `a keyframe is requested when none has come for 2.1 s, at most once a second`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 1000), now: .zero)
    var requests: [Int64] = []
    for now in stride(from: Int64(100), through: 5000, by: 100) {
      let words = Self.words(sender.enqueue(video(now), now: time(now)))
      if words.contains("keyframe?") { requests.append(now) }
      _ = sender.update(unsentByteCount: 0, now: time(now))
    }
    #expect(requests == [2200, 3200, 4200])
  }

  @Test func `what waits is gone once faces are private, and a keyframe comes first`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 100_000), now: .zero)
    _ = sender.enqueue(video(1), now: time(1))
    _ = sender.enqueue(video(2, isKeyframe: true), now: time(2))
    #expect(sender.discardEarlier(unsentByteCount: 0, now: time(3)).isEmpty)
    #expect(sender.update(unsentByteCount: 0, now: time(3)).isEmpty)
    #expect(sender.enqueue(video(4), now: time(4)).isEmpty)
    #expect(Self.words(sender.enqueue(video(5, isKeyframe: true), now: time(5))) == ["K5"])
  }

  @Test func `a connection that holds frames without privacy is aborted, and another one opened at once`() {
    var settings = PushSettings(bitrate: 1_000_000)
    settings.alwaysHasOwnEncoding = true
    var sender = Self.sender(settings)
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.encodingGranted(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 100_000), now: .zero)
    _ = sender.enqueue(video(1), now: time(1))
    #expect(Self.words(sender.discardEarlier(unsentByteCount: 1, now: time(2))) == ["abort", "release", "connect"])
    #expect(sender.status(at: time(2)).phase == .connecting)
    #expect(sender.discardEarlier(unsentByteCount: 0, now: time(3)).isEmpty)
    #expect(sender.enqueue(video(4, isKeyframe: true), now: time(4)).isEmpty)
    #expect(Self.words(sender.handleConnected(now: time(5))) == ["encoding? 1000000"])
    #expect(Self.words(sender.enqueue(video(6, isKeyframe: true), now: time(6))) == ["configuration", "K6"])
    #expect(sender.status(at: time(6)).reconnects == 1 && sender.status(at: time(6)).lastFailure == nil)
  }

  @Test func `a server that asks for a new connection gets it at once, but not in a loop`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true), now: .zero)
    #expect(Self.words(sender.handleReconnectRequest(now: time(10_000))) == ["disconnect", "connect"])
    #expect(sender.handleReconnectRequest(now: time(10_000)).isEmpty)
    #expect(Self.words(sender.handleConnected(now: time(10_100))) == ["keyframe?"])
    #expect(
      Self.words(sender.enqueue(video(10_200, isKeyframe: true), now: time(10_200))) == ["configuration", "K10200"])
    #expect(Self.words(sender.handleReconnectRequest(now: time(11_000))) == ["disconnect"])
    #expect(sender.status(at: time(11_000)).lastFailure == "the server asks for a new connection")
    guard case .waiting = sender.status(at: time(11_000)).phase else {
      Issue.record("it does not wait")
      return
    }
  }

  @Test func `the window has room for what is on its way during a round trip`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    // 62,500 bytes are a quarter second, 150,000 those of a round trip.
    _ = sender.update(unsentByteCount: 0, roundTripTime: .milliseconds(600), now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 212_000), now: .zero)
    #expect(Self.words(sender.enqueue(video(1), now: time(1))) == ["V1"])
    #expect(sender.enqueue(video(2), now: time(2)).isEmpty)
    // A later measurement includes what waits in the link.
    #expect(sender.update(unsentByteCount: 213_000, roundTripTime: .milliseconds(800), now: time(600)).isEmpty)
    #expect(sender.status(at: time(700)).queueAge == .milliseconds(698))
    #expect(Self.words(sender.update(unsentByteCount: 1000, now: time(610))) == ["V2"])
    #expect(sender.status(at: time(610)).queueAge == .milliseconds(9))
  }

  @Test func `a push that waits for an encoding reports the stream's bitrate, and does not wait once its link is fast`()
  {
    var settings = PushSettings(bitrate: 800_000)
    settings.alwaysHasOwnEncoding = true
    settings.sharedBitrate = 2_300_000
    var capped = Self.sender(settings)
    _ = capped.start(now: .zero)
    _ = capped.handleConnected(now: .zero)
    #expect(capped.status(at: .zero).bitrate == 2_300_000 && capped.status(at: .zero).isWaitingForEncoding)
    _ = capped.encodingGranted(now: .zero)
    #expect(capped.status(at: .zero).bitrate == 800_000 && !capped.status(at: .zero).isWaitingForEncoding)

    var push = SimulatedPush(
      shape: .halved, linkRate: 3_000_000, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 120, seed: 1,
      grantsEncodings: false)
    push.run(while: { $0.now < time(60_000) })
    #expect(push.status.isWaitingForEncoding && push.status.bitrate == 2_300_000)
    push.run()
    #expect(!push.status.isWaitingForEncoding)
    #expect(
      push.observations.encodingRequests > 0 && push.observations.encodingReleases == push.observations.encodingRequests
    )
  }

  @Test func `a push with a bitrate requests its encoding at once, and the stream's is sent when that fails`() {
    var settings = PushSettings(bitrate: 1_000_000)
    settings.alwaysHasOwnEncoding = true
    var sender = Self.sender(settings)
    _ = sender.start(now: .zero)
    #expect(Self.words(sender.handleConnected(now: .zero)) == ["encoding? 1000000"])
    #expect(Self.words(sender.encodingGranted(now: .zero)) == ["bitrate 1000000", "keyframe?"])
    #expect(Self.words(sender.enqueue(video(1, isKeyframe: true), now: time(1))) == ["configuration", "K1"])
    for now in stride(from: Int64(100), through: 60_000, by: 100) {
      let words = Self.words(sender.update(unsentByteCount: 0, now: time(now)))
      #expect(words.isEmpty, "\(now)")
    }
    #expect(sender.status(at: time(60_000)).hasOwnEncoding)
    #expect(Self.words(sender.encodingFailed(now: time(60_000))) == ["release", "keyframe?"])
    #expect(!sender.status(at: time(60_000)).hasOwnEncoding)
    _ = sender.handleDisconnected("closed", now: time(61_000))
    _ = sender.update(now: sender.nextDeadline ?? .zero)
    #expect(Self.words(sender.handleConnected(now: time(63_000))) == ["keyframe?"])
  }

  @Test func `an encoding that was granted too late is released`() {
    var sender = Self.sender()
    #expect(Self.words(sender.encodingGranted(now: .zero)) == ["release"])
  }
}

/// A source that is passed through: its bitrate and its keyframes are its own.
@Suite("Sender of a push, of a source that is passed through")
struct PassedThroughPushTests {
  private static func sender(minimum: Int? = 250_000) -> PushSender {
    var sender = PushSender(settings: PushSettings(bitrate: 2_000_000, minimumBitrate: minimum), makeRandom: { 0 })
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    return sender
  }

  /// Bytes passed to a connection that takes none, of a stream of 6 Mb/s.
  private static func sentByteCount(_ sender: consuming PushSender) -> Int {
    for frame in 0..<30 {
      let sample = video(Int64(frame), isKeyframe: frame == 0, size: 25_000)
      _ = sender.enqueue(sample, now: time(Int64(frame)))
    }
    return sender.status(at: time(30)).sentByteCount
  }

  @Test func `a quarter second of the bitrate that the source has is on its way, also when it is known later`() {
    #expect(Self.sentByteCount(Self.sender()) == 75_000)
    var raised = Self.sender()
    #expect(raised.setBitrates(6_000_000, shared: 6_000_000).isEmpty)
    #expect(raised.status(at: .zero).bitrate == 6_000_000)
    #expect(Self.sentByteCount(raised) == 200_000)
  }

  /// Words of what is requested while keyframes come this many seconds apart, with a frame every 100 ms.
  private static func requests(keyframeInterval: Int, minimum: Int? = 250_000, count: Int = 20) -> [String] {
    var sender = Self.sender(minimum: minimum)
    var words: [String] = []
    for tenth in 0..<count * 10 {
      let now = time(Int64(tenth * 100))
      var actions = sender.enqueue(
        video(Int64(tenth), isKeyframe: tenth % (keyframeInterval * 10) == 0, size: 100), now: now)
      actions += sender.update(now: now)
      for case .requestEncoding(let bitrate) in actions {
        words.append("\(tenth / 10) s: \(bitrate)")
        _ = sender.encodingGranted(now: now)
      }
      for case .releaseEncoding in actions { words.append("\(tenth / 10) s: release") }
    }
    return words
  }

  @Test func `keyframes that come too late twice in a row are replaced by those of an encoding of its own, for good`() {
    #expect(Self.requests(keyframeInterval: 2, count: 60) == [])
    #expect(Self.requests(keyframeInterval: 4, count: 60) == ["8 s: 2000000"])
    // A push that does not adapt gets the stream as it is.
    #expect(Self.requests(keyframeInterval: 4, minimum: nil, count: 60) == [])
  }

  @Test func `a stream of one frame a second whose encoder makes keyframes on request is sent as it is`() {
    var sender = Self.sender()
    var (isRequested, requests, keyframes) = (true, 0, 0)
    for second in 0..<60 {
      let now = time(Int64(second * 1000))
      let actions =
        sender.enqueue(video(Int64(second), isKeyframe: isRequested, size: 100), now: now)
        + sender.update(now: now)
      keyframes += isRequested ? 1 : 0
      isRequested = actions.contains { if case .requestKeyframe = $0 { true } else { false } }
      requests += actions.count { if case .requestEncoding = $0 { true } else { false } }
    }
    #expect(requests == 0 && keyframes == 15)
  }

  @Test func `an encoding of its own may have the bitrate of the source`() {
    var sender = Self.sender()
    _ = sender.setBitrates(6_000_000, shared: 6_000_000)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 100), now: .zero)
    var requested: Int?
    // 4 Mb/s leave.
    var (unsent, last) = (0.0, 0)
    for step in 1..<600 where requested == nil {
      let now = time(Int64(step * 33))
      for action in sender.enqueue(video(Int64(step), size: 25_000), now: now)
        + sender.update(unsentByteCount: Int(unsent), now: now)
      {
        if case .requestEncoding(let bitrate) = action { requested = bitrate }
      }
      let sent = sender.status(at: now).sentByteCount
      unsent = max(0, unsent + Double(sent - last) - 4_000_000 / 8 * 0.033)
      last = sent
    }
    #expect(requested.map { (2_500_000...4_000_000).contains($0) } == true, "\(String(describing: requested))")
  }

  @Test func `what was sent during the last second is measured`() {
    var sender = Self.sender()
    for frame in 0..<75 {
      let now = time(Int64(frame * 40))
      _ = sender.enqueue(video(Int64(frame), isKeyframe: frame == 0, size: 5_000), now: now)
      _ = sender.update(now: now)
    }
    let status = sender.status(at: time(3_000))
    #expect((950_000...1_050_000).contains(status.sentBitrate), "\(status.sentBitrate)")
    #expect(status.bitrate == 2_000_000)
  }
}
