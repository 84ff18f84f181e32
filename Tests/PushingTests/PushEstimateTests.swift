import Media
import Testing

@testable import Pushing

@Suite("Sender of a push whose protocol estimates the link, and whose server names a time")
struct PushEstimateTests {
  private static func sender(minimumBitrate: Int? = 250_000) -> PushSender {
    var settings = PushSettings(bitrate: 2_000_000, minimumBitrate: minimumBitrate)
    settings.hasEstimate = true
    return PushSender(settings: settings, makeRandom: { 0 })
  }

  /// Bitrates of the actions that are about an encoding.
  private static func bitrates(_ actions: [PushSender.Action]) -> [String] {
    actions.compactMap { action in
      switch action {
      case .requestEncoding(let bitrate): "encoding? \(bitrate)"
      case .setBitrate(let bitrate): "bitrate \(bitrate)"
      case .releaseEncoding: "release"
      default: nil
      }
    }
  }

  @Test func `an encoding of its own follows the estimate, and is released when the link carries the stream again`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    // No estimate is known yet, then one that suffices.
    #expect(Self.bitrates(sender.update(now: time(100))) == [])
    #expect(Self.bitrates(sender.update(estimate: 4_000_000, now: time(200))) == [])
    // 95% of the estimate, without the audio.
    // A second of it, without a better one between.
    #expect(Self.bitrates(sender.update(estimate: 1_000_000, now: time(300))) == [])
    #expect(Self.bitrates(sender.update(estimate: 4_000_000, now: time(900))) == [])
    #expect(Self.bitrates(sender.update(estimate: 1_000_000, now: time(1000))) == [])
    #expect(Self.bitrates(sender.update(estimate: 1_000_000, now: time(1900))) == [])
    #expect(Self.bitrates(sender.update(estimate: 1_000_000, now: time(2000))) == ["encoding? 860000"])
    #expect(Self.bitrates(sender.encodingGranted(now: time(2010))) == ["bitrate 860000"])
    // From then on at once, and never below the minimum.
    #expect(Self.bitrates(sender.update(estimate: 600_000, now: time(2100))) == ["bitrate 480000"])
    #expect(Self.bitrates(sender.update(estimate: 10_000, now: time(2200))) == ["bitrate 250000"])
    #expect(Self.bitrates(sender.update(estimate: 4_000_000, now: time(3000))) == ["bitrate 2000000"])
    #expect(sender.status(at: time(3000)).bitrate == 2_000_000)
    // 15 s at the stream's bitrate.
    #expect(Self.bitrates(sender.update(estimate: 4_000_000, now: time(17_900))) == [])
    #expect(Self.bitrates(sender.update(estimate: 4_000_000, now: time(18_100))) == ["release"])
    #expect(!sender.status(at: time(18_100)).hasOwnEncoding)
  }

  @Test func `unsent bytes say nothing where there is an estimate`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    _ = sender.enqueue(video(0, isKeyframe: true, size: 60_000), now: .zero)
    for step in 1...30 {
      let actions = sender.update(unsentByteCount: 60_000, estimate: 4_000_000, now: time(Int64(step) * 100))
      #expect(Self.bitrates(actions) == [])
    }
  }

  @Test func `without adapting the estimate changes nothing`() {
    var sender = Self.sender(minimumBitrate: nil)
    _ = sender.start(now: .zero)
    _ = sender.handleConnected(now: .zero)
    for step in 1...30 {
      #expect(Self.bitrates(sender.update(estimate: 100_000, now: time(Int64(step) * 100))) == [])
    }
  }

  @Test func `the next attempt is not before the time that a server names, and delays double all the same`() {
    var sender = Self.sender()
    _ = sender.start(now: .zero)
    _ = sender.handleDisconnected("busy", minimumDelay: .seconds(7), now: .zero)
    #expect(sender.status(at: .zero).phase == .waiting(until: time(7000)))
    #expect(sender.update(now: time(6999)).isEmpty)
    #expect(sender.update(now: time(7000)).count == 1)
    // The second delay, a fifth shorter by the random number, is longer than what the server names.
    _ = sender.handleDisconnected("busy", minimumDelay: .milliseconds(100), now: time(7000))
    #expect(sender.status(at: time(7000)).phase == .waiting(until: time(7800)))
  }
}
