import CLibav
import Media
import Testing

@testable import MediaInput

@Suite("Choice of tracks")
struct StreamChoiceTests {
  private typealias Candidate = StreamChoice.Candidate

  private static func video(_ index: Int, _ change: (inout Candidate) -> Void = { _ in }) -> Candidate {
    var candidate = Candidate(index: index, kind: .video, pixelCount: 640 * 360)
    change(&candidate)
    return candidate
  }

  private static func audio(_ index: Int, _ change: (inout Candidate) -> Void = { _ in }) -> Candidate {
    var candidate = Candidate(index: index, kind: .audio)
    change(&candidate)
    return candidate
  }

  @Test func `a track without a decoder is the last, whatever its flags`() {
    let choice = StreamChoice([
      Self.audio(0) { ($0.hasDecoder, $0.isDefault) = (false, true) }, Self.video(1) { $0.hasDecoder = false },
      Self.audio(2) { $0.isSpecial = true }, Self.video(3) { $0.pixelCount = 10 },
    ])
    #expect(choice.video == [3, 1] && choice.audio == [2, 0])
  }

  @Test func `audio that sends nothing comes behind audio that does`() {
    let silent = Self.audio(0) { $0.hasPackets = false }
    #expect(StreamChoice([silent, Self.audio(1) { $0.isSpecial = true }]).audio == [1, 0])
    #expect(StreamChoice([Self.audio(1) { $0.hasDecoder = false }, silent]).audio == [0, 1])
  }

  @Test func `audio that an RTSP server receives is no candidate, by its place in the description`() throws {
    let context = try #require(avformat_alloc_context())
    defer { avformat_free_context(context) }
    for (place, type) in [AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].enumerated() {
      let stream = try #require(avformat_new_stream(context, nil))
      stream.pointee.id = Int32(place)
      stream.pointee.codecpar.pointee.codec_type = type
    }
    // Video is never hidden.
    context.hideStreams([0, 1])
    let choice = StreamChoice(context)
    #expect(choice.video == [1] && choice.audio == [2])
  }

  @Test func `cover images are no video`() {
    let music = StreamChoice([
      Self.audio(0), Self.video(1) { ($0.isCoverImage, $0.isDefault, $0.pixelCount) = (true, true, 9_000_000) },
    ])
    #expect(music.video == [] && music.audio == [0])
    #expect(StreamChoice([Self.video(0) { $0.isCoverImage = true }, Self.video(1)]).video == [1])
  }

  @Test func `the default comes before the others, large frames before small ones, the first of equal ones first`() {
    let choice = StreamChoice([
      Self.video(0) { $0.pixelCount = 100 }, Self.video(1) { $0.pixelCount = 200 },
      Self.video(2) { ($0.pixelCount, $0.isDefault) = (50, true) }, Self.audio(3), Self.audio(4),
      Self.audio(5) { $0.isDefault = true }, Self.audio(6) { ($0.isDefault, $0.isSpecial) = (true, true) },
      Self.audio(7) { ($0.isDefault, $0.hasFormat) = (true, false) },
    ])
    #expect(choice.video == [2, 1, 0] && choice.audio == [5, 3, 4, 6, 7])
  }

  @Test func `audio has the language of the video, unless another one is the default`() {
    let video = Self.video(0) { $0.language = "deu" }
    let tracks = [Self.audio(1) { $0.language = "fra" }, Self.audio(2) { $0.language = "deu" }]
    #expect(StreamChoice([video] + tracks).audio == [2, 1])
    #expect(StreamChoice([Self.video(0)] + tracks).audio == [1, 2])
    let unknown = [Self.video(0) { $0.language = "und" }, tracks[0], Self.audio(2) { $0.language = "und" }]
    #expect(StreamChoice(unknown).audio == [1, 2])
    var marked = tracks
    marked[0].isDefault = true
    #expect(StreamChoice([video] + marked).audio == [1, 2])
  }

  @Test func `audio of another program than the video's is left out`() {
    let tracks = [
      Self.audio(0) { ($0.programs, $0.isDefault) = ([0], true) },
      Self.video(1) { ($0.programs, $0.pixelCount) = ([0], 100) },
      Self.video(2) { $0.programs = [1, 2] }, Self.audio(3) { $0.programs = [2] }, Self.audio(4),
    ]
    let choice = StreamChoice(tracks)
    #expect(choice.video == [2, 1] && choice.audio == [3, 4])
    #expect(StreamChoice(tracks.filter { $0.kind == .audio }).audio == [0, 3, 4])
  }

  @Test func `the first that opens is taken, and the first error is thrown where none does`() throws {
    let failure = VidiconError(.failed, subject: "it", cause: "3", nextStep: "none")
    func open(_ index: Int) throws(VidiconError) -> Int {
      guard index < 3 else { throw VidiconError(.failed, subject: "it", cause: "\(index)", nextStep: "none") }
      return 10 * index
    }
    let opened = try StreamChoice.open([3, 1, 2], open)
    #expect(opened?.track == 10 && opened?.index == 1)
    #expect(try StreamChoice.open([], open) == nil)
    #expect(throws: failure) { _ = try StreamChoice.open([3, 4], open) }
  }
}
