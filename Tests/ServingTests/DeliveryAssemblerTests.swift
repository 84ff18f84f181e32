import Media
import Serving
import Testing

@Suite("Audio that waits for the next access unit")
struct DeliveryAssemblerTests {
  @Test(arguments: zip([30, 60, 10, 25] as [Int32], [33_333_333, 20_000_000, 40_000_000, 40_000_000] as [Int64]))
  func `audio waits for one frame interval, at least 20 and at most 40 ms`(rate: Int32, nanoseconds: Int64) {
    let assembler = DeliveryAssembler<TestPackets>(frameRate: FrameRate(rate))
    #expect(assembler.maximumWait == MediaDuration(nanoseconds: nanoseconds))
  }

  @Test func `an access unit leaves at once, with the audio that waits`() throws {
    var assembler = DeliveryAssembler<TestPackets>(frameRate: 30)
    #expect(assembler.append(TestPackets(.audio), discards: 0, at: time(0)).delivery == nil)
    #expect(assembler.append(TestPackets(.audio), discards: 0, at: time(5)).delivery == nil)
    let video = TestPackets(.video)
    let joined = try #require(assembler.append(video, discards: 7, at: time(6)).delivery)
    #expect(joined.audio.count == 2 && joined.video === video && joined.discards == 7)
    let alone = try #require(assembler.append(video, discards: 0, at: time(7)).delivery)
    #expect(alone.audio.isEmpty && alone.video === video)
  }

  @Test func `one timer runs at a time, and is due when the first audio has waited long enough`() throws {
    var assembler = DeliveryAssembler<TestPackets>(frameRate: 25)
    #expect(assembler.append(TestPackets(.audio), discards: 0, at: time(0)).timer == time(40))
    #expect(assembler.append(TestPackets(.audio), discards: 0, at: time(20)).timer == nil)
    _ = assembler.append(TestPackets(.video), discards: 0, at: time(30))
    #expect(assembler.append(TestPackets(.audio), discards: 0, at: time(35)).timer == nil)
    let early = assembler.handleTimer(at: time(40))
    #expect(early.delivery == nil && early.timer == time(75))
    let due = assembler.handleTimer(at: time(75))
    #expect(due.delivery?.audio.count == 1 && due.delivery?.video == nil && due.timer == nil)
    #expect(assembler.handleTimer(at: time(200)).delivery == nil)
  }

  @Test func `audio does not pile up when the timer is late`() throws {
    var assembler = DeliveryAssembler<TestPackets>(frameRate: 30)
    _ = assembler.append(TestPackets(.audio), discards: 0, at: time(0))
    let late = assembler.append(TestPackets(.audio), discards: 0, at: time(500))
    #expect(late.delivery?.audio.count == 2)
  }

  @Test func `without video audio does not wait`() throws {
    var assembler = DeliveryAssembler<TestPackets>(frameRate: nil)
    let output = assembler.append(TestPackets(.audio), discards: 0, at: time(0))
    #expect(output.delivery?.audio.count == 1 && output.timer == nil)
  }
}
