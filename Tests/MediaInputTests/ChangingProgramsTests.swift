import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

/// Packet identifiers of a program change where clips were joined, or at an event of a broadcaster (ISO/IEC 13818-1 §2.4.4.8).
@Suite("Transport streams whose tracks change", .timeLimit(.minutes(5)))
struct ChangingProgramsTests {
  /// Video, and a tone where there is one, of some seconds.
  ///
  /// - Parameter options: Of the output, such as packet identifiers.
  private static func clip(_ name: String, seconds: Int, tone: Int?, _ options: [String] = []) throws -> Data {
    let audio = tone.map { ["-f", "lavfi", "-i", "sine=\($0):r=48000:d=\(seconds)", "-c:a", "aac"] } ?? []
    let path = try TestMedia.path(
      "\(name).ts",
      ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=\(seconds)"] + audio
        + ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p"] + options)
    return try Data(contentsOf: URL(filePath: path))
  }

  private static func tone(ofLast count: Int, of blocks: [AudioBlock]) -> Double {
    var (last, samples) = ([AudioBlock](), 0)
    for block in blocks.reversed() where samples < count {
      last.insert(block, at: 0)
      samples += block.sampleCount
    }
    return last.tone()
  }

  @Test func `a file in the middle of which a stream begins is played again and again`() throws {
    let first = try Self.clip("middle-1", seconds: 9, tone: nil)
    let second = try Self.clip("middle-2", seconds: 2, tone: 880)
    // Longer than what libavformat reads of the end.
    let last = try Self.clip("middle-3", seconds: 4, tone: nil, ["-muxrate", "2M"])
    try #require(last.count > 600_000)
    let path = try TestMedia.path("middle.ts", bytes: first + second + last)
    let playback = try FileDecoder(path: path, isLooped: true, isConfined: false, interrupt: LibavInterrupt())
    var count = 0
    while count < 500 {
      if playback.advance(isLate: false) { continue }
      guard let next = playback.next else { break }
      switch next {
      case .frame: if playback.dequeueFrame() != nil { count += 1 }
      case .audio: _ = playback.dequeueAudio()
      }
    }
    #expect(count == 500 && playback.error == nil)
  }

  /// The audio of a network source that sends clips with one clock, once there are so many samples of it, and access units of the video.
  /// After a new connection, both would be those of the first clip.
  private static func audio(_ name: String, _ clips: [Data], samples: Int, units: Int = 1) throws -> [AudioBlock] {
    _ = try TestMedia.path(name, bytes: clips.reduce(Data(), +))
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let formats = NetworkSource.AssumedFormats(
      video: VideoFormat(width: 64, height: 48, pixelFormat: .i420, frameRate: 25),
      audio: AudioFormat(sampleRate: 48_000, channelCount: 2))
    let source = try NetworkSource(
      try NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/\(name)"), until: formats)
    let (video, audio) = (SampleCollector(), AudioCollector())
    try #require(source.video).start(consumer: video)
    try #require(source.audio).start(consumer: audio)
    let blocks = audio.blocks(samples: samples)
    #expect(video.wait { $0.samples.count >= units }.samples.count >= units)
    source.video?.stop()
    source.audio?.stop()
    return blocks
  }

  @Test func `audio of a network source that is announced later is heard`() throws {
    let first = try Self.clip("announced-1", seconds: 6, tone: nil)
    let second = try Self.clip("announced-2", seconds: 6, tone: 880, ["-output_ts_offset", "6"])
    let blocks = try Self.audio("announced.ts", [first, second], samples: 48_000)
    #expect(abs(blocks.tone() - 880) < 5, "\(blocks.tone()) Hz")
  }

  /// The identifiers of the first clip are 256 and 257.
  @Test(arguments: [["-streamid", "0:256", "-streamid", "1:513"], ["-streamid", "0:512", "-streamid", "1:513"]])
  func `tracks of a network source that others replace go on`(identifiers: [String]) throws {
    let first = try Self.clip("replaced-1", seconds: 4, tone: 440)
    let name = "replaced-\(identifiers[1].prefix(5).suffix(3))"
    let second = try Self.clip("\(name)-2", seconds: 8, tone: 880, identifiers + ["-output_ts_offset", "4"])
    let blocks = try Self.audio("\(name).ts", [first, second], samples: 5 * 48_000, units: 110)
    let tone = Self.tone(ofLast: 24_000, of: blocks)
    #expect(abs(tone - 880) < 5, "\(tone) Hz")
  }
}
