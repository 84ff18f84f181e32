import Effects
import Media
import NIOCore
import Testing
import Threading

@testable import Streaming

@Suite("Outputs of one encoding", .timeLimit(.minutes(5)))
struct OutputGroupTests {
  /// Records the calls in their order.
  private final class Recorder: StreamOutput {
    private let state = Monitor<[String]>([])
    let hasConsumers: Bool

    init(hasConsumers: Bool = true) {
      self.hasConsumers = hasConsumers
    }

    var calls: [String] { self.state.withLock { $0 } }

    private func note(_ call: String) { self.state.withLock { $0.append(call) } }

    func consume(_ sample: EncodedSample) { self.note("\(sample.kind.rawValue) \(sample.payload.readableBytes)") }
    func consume(_ metadata: TimedFrameMetadata) { self.note("metadata") }
    func descriptionChanged(to description: CodecDescription) { self.note("\(description.kind.rawValue) changes") }
    func discardEarlier() { self.note("discard") }
    func streamEnded() { self.note("end") }
  }

  private let group = OutputGroup()
  private let output = Recorder()

  private static func description(width: Int = 16) -> CodecDescription {
    .h264(
      H264Description(
        sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: width, height: 16, frameRate: 25))
  }

  private static let audio = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))

  private static func sample(_ kind: MediaKind, _ byteCount: Int, isKeyframe: Bool = false) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: ByteBuffer(repeating: 0, count: byteCount), presentationTime: .zero,
      duration: .milliseconds(40), isKeyframe: isKeyframe)
  }

  /// Whether a frame is output, by its length in bytes.
  private func show(_ byteCount: Int, isKeyframe: Bool = false, width: Int = 16, generation: Int = 0) -> Bool {
    self.group.consumeVideo(
      Self.sample(.video, byteCount, isKeyframe: isKeyframe), of: Self.description(width: width), generation: generation
    )
  }

  @Test func `an output gets the codec configurations before its first sample, and each change once`() {
    self.group.announce(Self.audio)
    #expect(self.show(1, isKeyframe: true))
    self.group.add(self.output)
    #expect(self.output.calls == ["video changes", "audio changes"])
    self.group.announce(Self.audio)
    #expect(self.show(2))
    self.group.consumeAudio(Self.sample(.audio, 3))
    #expect(self.show(4, isKeyframe: true, width: 32))
    self.group.consume(TimedFrameMetadata(timestamp: .zero, width: 32, height: 16, metadata: FrameMetadata()))
    #expect(
      self.output.calls.dropFirst(2) == ["video 2", "audio 3", "video changes", "video 4", "metadata"])
    #expect(self.group.descriptions == [Self.description(width: 32), Self.audio])
    self.group.remove(self.output)
    #expect(self.show(5) && self.output.calls.count == 7)
  }

  @Test func `after frames became private, none of before is output, and none that refers to such a frame`() {
    self.group.add(self.output)
    #expect(self.show(1, isKeyframe: true) && self.show(2))
    self.group.discardEarlier { 1 }
    #expect(!self.show(3, isKeyframe: true) && !self.show(4, generation: 1))
    #expect(self.show(5, isKeyframe: true, generation: 1) && self.show(6, generation: 1))
    self.group.discardEarlier { 2 }
    #expect(!self.show(7, generation: 1) && !self.show(8, generation: 2))
    #expect(self.show(9, isKeyframe: true, generation: 2))
    #expect(
      self.output.calls == [
        "video changes", "video 1", "video 2", "discard", "video 5", "video 6", "discard", "video 9",
      ])
  }

  @Test func `the codec configuration of a frame that is not output is known`() {
    self.group.add(self.output)
    self.group.discardEarlier { 1 }
    #expect(!self.show(1, isKeyframe: true))
    #expect(self.group.descriptions == [Self.description()] && self.output.calls == ["discard", "video changes"])
  }

  @Test func `a generation begins while no video is output, so that its keyframe is not discarded`() async {
    self.group.add(self.output)
    let (group, isShown) = (self.group, Monitor(false))
    self.group.discardEarlier {
      let isStarted = WorkerThread.startDetached(named: "video") {
        let sample = Self.sample(.video, 5, isKeyframe: true)
        _ = group.consumeVideo(sample, of: Self.description(), generation: 1)
        isShown.withLock { $0 = true }
      }
      #expect(isStarted)
      // Would be shown by now if it did not wait.
      #expect(isShown.wait(until: StreamClock.system.now() + .milliseconds(50)) { $0 ? true : nil } == nil)
      return 1
    }
    #expect(isShown.wait(until: StreamClock.system.now() + .seconds(300)) { $0 ? true : nil } == true)
    #expect(self.output.calls == ["discard", "video changes", "video 5"])
  }

  @Test func `outputs end once; then others can be added until the stream has ended`() {
    let (second, third) = (Recorder(), Recorder())
    self.group.add(self.output)
    self.group.endOutputs()
    self.group.endOutputs()
    #expect(self.output.calls == ["end"] && !self.group.hasEnded)
    self.group.add(second)
    #expect(self.show(1, isKeyframe: true))
    self.group.end()
    self.group.endOutputs()
    #expect(second.calls == ["video changes", "video 1", "end"] && self.group.hasEnded)
    self.group.add(third)
    #expect(third.calls == ["end"])
  }

  @Test func `an output is ended at once where the encoding has failed`() {
    self.group.add(self.output) { false }
    #expect(self.output.calls == ["end"])
    #expect(self.show(1, isKeyframe: true) && self.output.calls == ["end"])
  }

  @Test func `consumers of other outputs are known`() {
    self.group.add(self.output)
    #expect(!self.group.hasConsumers(besides: self.output))
    self.group.add(Recorder(hasConsumers: false))
    #expect(!self.group.hasConsumers(besides: self.output))
    self.group.add(Recorder())
    #expect(self.group.hasConsumers(besides: self.output))
  }
}
