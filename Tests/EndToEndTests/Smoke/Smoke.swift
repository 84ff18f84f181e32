import Foundation
import TestSupport
import Testing

/// The end-to-end tests of the gate: real clients against the built program, two at once.
///
/// They judge content: decoded frames, their order, codecs, statuses, files. None judges a frame rate, a latency, an interval, an
/// exact count of frames in a period, or what the program takes of the machine, so that they pass on a machine that is slow or
/// does other work. Their timeouts are many times what they take.
@Suite("Smoke", .machineShare(limit: .seconds(900)), .tags(.demanding))
enum Smoke {
  /// A small stream, which a debug build encodes beside other work.
  static let format = ["--size", "320x180", "--fps", "15", "--bitrate", "300k"]
  static let plasma = ["--source", "plasma", "--audio", "tone"] + format
  static let bars = ["--source", "bars", "--audio", "tone"] + format

  /// Number of frames that a play decodes.
  static let frameCount = 45

  /// Creates a certificate for `localhost` and its private key.
  ///
  /// - Returns: The options that name the files.
  static func certificate(in folder: String) async throws -> [String] {
    let (certificate, key) = ("\(folder)/cert.pem", "\(folder)/key.pem")
    let run = try await Tool.run(
      "openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
      within: .seconds(20))
    try #require(run.succeeded, "\(run.errors)")
    return ["--tls-cert", certificate, "--tls-key", key]
  }
}

/// Expects no decoding error, frames in their order with moving content, and audio.
func expectContent(_ play: FFmpeg.Play, frames count: Int = Smoke.frameCount) throws {
  try #require(play.run.exit == .status(0), "ffmpeg: \(play.run.errors)")
  #expect(FFmpeg.complaints(in: play.run.errors) == [])
  #expect(play.times.count >= count && zip(play.times, play.times.dropFirst()).allSatisfy { $0 < $1 }, "\(play.times)")
  try expectMoving(play.frames, count: count)
  if let audio = play.audio { #expect(audio.level > 0.002) }
}

/// Expects that decoded frames are neither flat nor all the same.
func expectMoving(_ frames: LumaFrames, count: Int = Smoke.frameCount) throws {
  try #require(frames.count >= count)
  let last = count - 1
  #expect(frames.mean(last) > 10 && frames.mean(last) < 245, "black or white")
  #expect(frames.deviation(last) > 4, "one flat color")
  #expect(frames.difference(last, last - 30) > 0.3, "a still image")
}
