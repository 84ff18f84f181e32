import Media
import Synchronization
import Testing
import Threading

@testable import Capture
@testable import CaptureDevices

@Suite("Camera output")
struct CameraOutputTests {
  /// Records the calls of a consumer as text.
  private final class Recorder: VideoConsumer {
    let calls = Mutex<[String]>([])

    private func record(_ call: String) {
      self.calls.withLock { $0.append(call) }
    }

    func consume(_ frame: VideoFrame) { self.record("frame \(frame.timestamp.nanoseconds)") }
    func captureSkipped(at timestamp: MediaTime) { self.record("skipped \(timestamp.nanoseconds)") }
    func captureFormatChanged(to format: VideoFormat) { self.record("format \(format.width)") }
    func captureEnded(_ error: VidiconError?) { self.record("ended \(error?.cause ?? "")") }

    var taken: [String] {
      self.calls.withLock { calls in
        defer { calls = [] }
        return calls
      }
    }
  }

  private static let format = VideoFormat(width: 4, height: 2, pixelFormat: .nv12)
  private let recorder = Recorder()
  private let wake: WakePipe
  private let state = CameraState(format: Self.format)
  private let output: CameraOutput

  init() throws {
    self.wake = try WakePipe(source: "test")
    self.output = CameraOutput(self.recorder, wake: self.wake, state: self.state)
  }

  private func frame(at seconds: Int64) -> VideoFrame {
    VideoFrame(buffer: PixelBuffer(format: Self.format), timestamp: .zero + .seconds(seconds))
  }

  @Test func `frames, skips, formats and ends are forwarded`() {
    self.output.consume(self.frame(at: 1))
    self.output.skip(at: .zero, .zero + .seconds(2))
    self.output.announce(Self.format)
    let wider = VideoFormat(width: 8, height: 2, pixelFormat: .nv12)
    self.output.announce(wider)
    self.output.announce(wider)
    self.output.end(.noCamera(source: "v4l2:"))
    #expect(
      self.recorder.taken == [
        "frame 1000000000", "skipped 0", "skipped 2000000000", "format 8", "ended there is no camera",
      ])
    #expect(self.state.withLock { $0.format } == wider)
  }

  @Test func `nothing is forwarded after the stop, and the format is still recorded`() {
    self.wake.stop()
    self.output.consume(self.frame(at: 1))
    self.output.skip(at: .zero)
    self.output.end(.noCamera(source: "v4l2:"))
    let wider = VideoFormat(width: 8, height: 2, pixelFormat: .nv12)
    self.output.announce(wider)
    #expect(self.recorder.taken == [])
    #expect(self.state.withLock { $0.format } == wider)
  }

  @Test func `frames of a trial are withheld until they have come for its duration`() {
    self.output.begin(trial: .seconds(5))
    for second in [10, 14, 15, 16] as [Int64] { self.output.consume(self.frame(at: second)) }
    #expect(self.recorder.taken == ["frame 15000000000", "frame 16000000000"])
    #expect(self.output.currentRun.duration == .seconds(6))
    self.output.begin(trial: .zero)
    #expect(self.output.currentRun.duration == .zero)
    self.output.consume(self.frame(at: 20))
    #expect(self.recorder.taken == ["frame 20000000000"])
  }

  @Test func `a keyframe request is returned once`() {
    #expect(!self.state.takeKeyframeRequest())
    self.state.withLock { $0.isKeyframeRequested = true }
    #expect([self.state.takeKeyframeRequest(), self.state.takeKeyframeRequest()] == [true, false])
  }

  @Test func `the requested size is the user's, else the stream's, within the limits`() {
    func size(_ specification: CameraSpecification, _ width: Int, _ height: Int) -> [Int] {
      let size = CameraRequest(
        specification: specification, width: width, height: height, frameRate: FrameRate(30)
      ).size
      return [size.width, size.height]
    }
    #expect(size(CameraSpecification(), 1280, 720) == [1280, 720])
    #expect(size(CameraSpecification(width: 640, height: 480), 1280, 720) == [640, 480])
    #expect(size(CameraSpecification(), 0, -5) == [1, 1])
    #expect(size(CameraSpecification(width: .max, height: 99_999), 1, 1) == [16_384, 16_384])
  }
}
