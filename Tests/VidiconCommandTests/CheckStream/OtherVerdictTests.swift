import NIOCore
import Testing

@testable import RTMP
@testable import VidiconCommand

@Suite("Verdicts on RTMP and Motion JPEG", .timeLimit(.minutes(5)))
struct OtherVerdictTests {
  private static let healthy = {
    var facts = RTMPObservation()
    facts.started = 0.1
    facts.duration = 8
    var (video, audio) = (StreamFixtures.video, StreamFixtures.audio)
    (video.expectedCount, video.senderReportCount, video.jitter) = (0, nil, nil)
    (audio.expectedCount, audio.senderReportCount, audio.jitter) = (0, nil, nil)
    facts.tracks = [video, audio]
    return facts
  }()

  private static func refusal(
    _ step: RTMPClientFailure.Step, _ code: String, _ description: String, redirect: String? = nil
  ) -> StreamVerdict {
    var facts = RTMPObservation()
    facts.failure = RTMPClientFailure(
      step: step, code: code, description: description, isRetryable: true, redirect: redirect)
    return facts.verdict
  }

  @Test func `a healthy RTMP stream has no problem`() {
    #expect(Self.healthy.verdict.problems == [] && Self.healthy.verdict.line(.players) == "ok: plays")
  }

  @Test func `each step that an RTMP server refuses has its cause`() {
    let handshake = Self.refusal(.handshake, "", "the server does not respond")
    #expect(handshake.problems == ["fault RTMP: no RTMP server responds there: the server does not respond"])
    let application = Self.refusal(.connect, "NetConnection.Connect.InvalidApp", "no such app")
    #expect(application.problems[0].contains("refuses the application: no such app (NetConnection.Connect.InvalidApp)"))
    let stream = Self.refusal(.request, "NetStream.Play.StreamNotFound", "not found")
    #expect(stream.problems[0].contains("refuses the stream") && stream.remedies[0].contains("publisher"))
    #expect(Self.refusal(.connect, "", "x", redirect: "rtmp://other/live").problems[0].contains("redirects"))
    #expect(RTMPObservation().verdict.problems == ["fault RTMP: the server does not respond in time"])
  }

  @Test func `an RTMP server without a publisher, one that ends, and B-frames are named`() {
    var facts = Self.healthy
    facts.tracks = []
    #expect(facts.verdict.problems == ["fault tracks: the server accepts, and no media arrives within 8.0 s"])
    // Video of another codec, alone and with AAC.
    for tracks in [[], [Self.healthy.tracks[1]]] {
      (facts.tracks, facts.otherTracks) = (tracks, [.init(kind: "video", codec: "HEVC")])
      #expect(facts.verdict.problems.count == 1 && facts.verdict.line(.webRTC).hasPrefix("warning: does not play"))
      #expect(facts.verdict.line(.players) == "ok: not judged: its video is HEVC")
    }
    facts = Self.healthy
    facts.ended = 1.5
    #expect(facts.verdict.problems == ["fault session: the server ends it 1.5 s after its acceptance"])
    facts = Self.healthy
    facts.tracks[0].isReordered = true
    #expect(facts.verdict.problems.count == 1 && facts.verdict.problems[0].hasPrefix("warning B-frames"))
  }

  /// A JPEG image of a few bytes.
  private static let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDA, 0, 2, 1, 2, 3, 0xFF, 0xD9]

  /// The response of a camera: an image at each of these times.
  private static func motion(_ times: [Double]) -> HTTPResult {
    var result = HTTPResult(status: 200)
    result.headers = [.init(name: "content-type", value: "multipart/x-mixed-replace; boundary=b")]
    result.pieces = times.map { time in
      HTTPResult.Piece(time: time, bytes: ByteBuffer(bytes: Array("--b\r\n\r\n".utf8) + Self.image))
    }
    result.endTime = 5
    return result
  }

  @Test func `a healthy Motion JPEG stream has no problem`() {
    let verdict = MotionJPEGObservation(Self.motion((0..<50).map { 0.1 + Double($0) / 10 })).verdict
    #expect(verdict.problems == [] && verdict.line(.browsers) == "ok: plays")
  }

  /// A response with one image.
  private static func snapshot(_ type: String?, _ bytes: [UInt8]) -> HTTPResult {
    var result = HTTPResult(status: 200)
    if let type { result.headers = [.init(name: "content-type", value: type)] }
    result.pieces = [.init(time: 0.1, bytes: ByteBuffer(bytes: bytes))]
    (result.ending, result.endTime) = (.complete, 0.1)
    return result
  }

  @Test func `a snapshot plays, and is one image`() {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]
    for result in [
      Self.snapshot("image/jpeg", Self.image), Self.snapshot(nil, Self.image), Self.snapshot("image/pjpeg", Self.image),
      Self.snapshot("image/png", png), Self.snapshot(nil, png), Self.snapshot("image/webp", Array("RIFF".utf8)),
    ] {
      #expect(MotionJPEGObservation.isShown(by: result))
      let verdict = MotionJPEGObservation(result).verdict
      #expect(verdict.problems == [] && verdict.line(.players) == "ok: plays: one image", "\(verdict)")
      #expect(verdict.line(.browsers) == "ok: plays: one image")
    }
    var slow = Self.snapshot("image/jpeg", Self.image)
    slow.endTime = 3
    #expect(MotionJPEGObservation(slow).verdict.problems == ["warning image: one of 11 bytes, which takes 3.0 s"])
    // One part of several, an image that is cut off, and one of a stream that goes on.
    let parts = Self.snapshot("multipart/x-mixed-replace", Self.image)
    #expect(MotionJPEGObservation(parts).verdict.problems == ["fault Motion JPEG: the server ends it after 1 images"])
    let cut = Self.snapshot("image/jpeg", Array(Self.image.dropLast(2)))
    #expect(MotionJPEGObservation(cut).verdict.problems == ["fault Motion JPEG: no image arrives within 0.1 s"])
    var open = Self.snapshot("image/jpeg", Self.image)
    open.ending = .cutOff
    #expect(MotionJPEGObservation(open).verdict.line(.players) == "ok: plays")
    #expect(!MotionJPEGObservation.isShown(by: Self.snapshot("text/html", Array("<html>".utf8))))
  }

  @Test func `Motion JPEG without images, late, slow, cut off or ended is named`() {
    func problems(_ result: HTTPResult) -> [String] { MotionJPEGObservation(result).verdict.problems }
    #expect(problems(Self.motion([])) == ["fault Motion JPEG: no image arrives within 5.0 s"])
    #expect(problems(Self.motion([3, 3.5, 4, 4.5])) == ["warning Motion JPEG: the first image comes after 3.0 s"])
    #expect(problems(Self.motion([0, 2.5, 5])) == ["warning Motion JPEG: 0.4 images per second"])
    var ended = Self.motion([0, 0.5])
    for ending in [HTTPResult.Ending.complete, .closed] {
      ended.ending = ending
      #expect(problems(ended) == ["fault Motion JPEG: the server ends it after 2 images"])
    }
    var damaged = Self.motion([0, 0.5, 1])
    damaged.pieces.insert(.init(time: 0.1, bytes: ByteBuffer(bytes: [0xFF, 0xD8, 0xFF, 0xD8, 0])), at: 1)
    #expect(problems(damaged).contains { $0.hasPrefix("warning images") })
  }
}
