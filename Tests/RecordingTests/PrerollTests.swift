import Media
import NIOCore
import Streaming
import Synchronization
import Testing

@testable import Recording

@Suite("Preroll")
struct PrerollTests {
  /// Logs the calls of an output, in order.
  private final class Log: StreamOutput {
    enum Entry: Equatable {
      case sample(Int64)
      case change(CodecDescription)
      case end
    }

    private let list = Mutex<[Entry]>([])

    var entries: [Entry] { self.list.withLock { $0 } }

    func consume(_ sample: EncodedSample) {
      let number = sample.payload.getInteger(at: sample.payload.readerIndex, as: Int64.self) ?? -1
      self.list.withLock { $0.append(.sample(number)) }
    }

    func descriptionChanged(to description: CodecDescription) { self.list.withLock { $0.append(.change(description)) } }

    func streamEnded() { self.list.withLock { $0.append(.end) } }
  }

  private let script = StreamScript()

  @Test func `retained samples are forwarded in order, followed by new ones`() {
    let (preroll, log) = (Preroll(limit: 100), Log())
    preroll.consume(self.script.videoFrame(0))
    preroll.descriptionChanged(to: StreamScript.otherVideo)
    preroll.consume(self.script.videoFrame(1))
    #expect(log.entries == [])
    #expect(preroll.forward(to: log))
    preroll.consume(self.script.videoFrame(2))
    preroll.descriptionChanged(to: StreamScript.video)
    preroll.streamEnded()
    #expect(
      log.entries == [
        .sample(0), .change(StreamScript.otherVideo), .sample(1), .sample(2), .change(StreamScript.video), .end,
      ])
  }

  @Test func `samples of before faces were private are not recorded, the codec's changes are`() {
    let (preroll, log) = (Preroll(limit: 100), Log())
    preroll.consume(self.script.videoFrame(0))
    preroll.descriptionChanged(to: StreamScript.otherVideo)
    preroll.discardEarlier()
    preroll.consume(self.script.videoFrame(1))
    #expect(preroll.forward(to: log))
    #expect(log.entries == [.change(StreamScript.otherVideo), .sample(1)])
  }

  @Test func `the end of the stream is forwarded when it came before the recording`() {
    let (preroll, log) = (Preroll(limit: 100), Log())
    preroll.consume(self.script.videoFrame(0))
    preroll.streamEnded()
    #expect(preroll.forward(to: log))
    #expect(log.entries == [.sample(0), .end])
  }

  @Test func `a preroll beyond its limit retains and forwards nothing`() {
    let (preroll, log) = (Preroll(limit: 20), Log())
    for index in 0..<3 { preroll.consume(self.script.videoFrame(Int64(index))) }
    #expect(!preroll.forward(to: log))
    preroll.consume(self.script.videoFrame(3))
    #expect(log.entries == [])
  }

  @Test func `a closed preroll forwards nothing`() {
    let (preroll, log) = (Preroll(limit: 100), Log())
    #expect(preroll.forward(to: log))
    preroll.close()
    preroll.consume(self.script.videoFrame(0))
    preroll.streamEnded()
    #expect(log.entries == [])
    #expect(!preroll.forward(to: log))
  }
}
