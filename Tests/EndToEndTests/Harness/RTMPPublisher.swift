import Foundation
import Testing

/// ffmpeg as a publisher over RTMP.
enum RTMPPublisher {
  /// Inputs and encoders of moving video of 320×180 and a tone.
  static let small = video + tone + encodingVideo + encodingAudio

  static let video = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30"]
  static let tone = ["-f", "lavfi", "-i", "sine=1000:r=48000"]
  static let encodingVideo = [
    "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-g", "30",
  ]
  static let encodingAudio = ["-c:a", "aac", "-ac", "2"]

  /// Publishes in real time until `body` has ended, then interrupts ffmpeg.
  ///
  /// - Parameter arguments: Options of ffmpeg between `-re` and the output.
  static func publishing(
    _ arguments: [String], to url: String, _ body: (ChildProcess) async throws -> Void
  ) async throws {
    let publisher = try ChildProcess(
      Tool("ffmpeg").path, ["-nostdin", "-v", "error", "-re"] + arguments + ["-f", "flv", url])
    defer { publisher.kill() }
    try await body(publisher)
    publisher.signal(SIGINT)
    #expect(await publisher.end(within: MachineShare.timeout(.seconds(20))) != nil, "\(publisher.errors.text)")
  }
}
