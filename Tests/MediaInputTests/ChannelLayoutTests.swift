import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Channels whose places are not known", .timeLimit(.minutes(5)))
struct ChannelLayoutTests {
  /// Name, number of channels, encoder, and frequency of the right channel of stereo: 440 Hz is in the first channel, 880 Hz in the second.
  private static let files: [(name: String, count: Int, encoder: [String], right: Double)] = [
    ("ambisonics.mkv", 4, ["-c:a", "libopus", "-mapping_family", "2"], 440),
    ("nine-channels.wav", 9, ["-c:a", "pcm_s16le"], 880),
    ("ten-channels.mkv", 10, ["-c:a", "pcm_f32le"], 880),
  ]

  @Test(arguments: Self.files.indices) func `the first ones are heard`(index: Int) throws {
    let (name, count, encoder, right) = Self.files[index]
    let channels = ["0.3*sin(2*PI*440*t)", "0.3*sin(2*PI*880*t)"] + Array(repeating: "0", count: count - 2)
    let path = try TestMedia.path(
      name, ["-f", "lavfi", "-i", "aevalsrc='\(channels.joined(separator: "|"))':s=48000:d=1"] + encoder)
    let blocks = try DecodedFile(path) { $0.timestamp }.audio
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) })
    let tones = [blocks.tone(ofChannel: 0), blocks.tone(ofChannel: 1)]
    #expect(abs(tones[0] - 440) < 5 && abs(tones[1] - right) < 5, "\(tones) Hz")
  }
}
