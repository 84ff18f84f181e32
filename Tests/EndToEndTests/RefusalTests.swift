import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Startup errors are reported in one line")
  struct Refusals {
    @Test func `a port in use`() async throws {
      try await VidiconProcess.serving(["--source", "plasma", "--size", "320x240"]) { vidicon in
        let port = "\(vidicon.rtspPort)"
        try await expectRefusal(
          ["serve", "--source", "plasma", "--rtsp-port", port, "--http-port", "0", "--webrtc-port", "0"], status: 1,
          saying: port)
      }
    }

    @Test func `a missing file`() async throws {
      let path = "/nowhere/film.mp4"
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "file:\(path)"], status: 1, saying: path)
    }

    @Test func `a file of random bytes`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/broken.mp4"
        var generator = SplitMix(seed: 1)
        let bytes = (0..<50_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try await expectRefusal(
          ["serve"] + VidiconProcess.freePorts + ["--source", "file:\(path)"], status: 1, saying: "broken.mp4"
        )
      }
    }

    @Test func `a truncated file`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/half.mp4"
        let whole = try Data(contentsOf: URL(fileURLWithPath: TestMedia.video()))
        try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
        try await expectRefusal(
          ["serve"] + VidiconProcess.freePorts + ["--source", "file:\(path)"], status: 1, saying: "half.mp4")
      }
    }

    @Test func `a file without video`() async throws {
      let path = TestMedia.checkout.appendingPathComponent("LICENSE").path
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "file:\(path)"], status: 1, saying: "LICENSE")
    }

    @Test(arguments: [
      "YUV4MPEG2 W0 H720 F30:1 C420\nFRAME\n",
      "YUV4MPEG2 W-1 H-1 F30:1 C420\nFRAME\n",
      "YUV4MPEG2 W2000000000 H2000000000 F30:1 C420\nFRAME\n",
      "YUV4MPEG2 W64 H64 F0:0 C420\nFRAME\n",
      "YUV4MPEG2 W64 H64 F30:1 C444p16\nFRAME\n",
      "GIF89a and so on\n",
    ])
    func `a pipe with an invalid header`(header: String) async throws {
      let pipe = ChildProcess.pipe()
      try pipe.fileHandleForWriting.write(contentsOf: Data(header.utf8))
      try pipe.fileHandleForWriting.close()
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "pipe:"], input: pipe, status: 1, saying: "pipe:")
    }

    @Test func `a missing encoder lists the available ones`() async throws {
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "plasma", "--encoder", "h264_of_tomorrow"],
        status: 1,
        saying: "libx264")
    }

    @Test func `an encoder without its device`() async throws {
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "plasma", "--encoder", "h264_vaapi"], status: 1,
        saying: "h264_vaapi")
    }

    @Test func `a missing certificate`() async throws {
      let options = ["--rtsps-port", "0", "--tls-cert", "/nowhere/cert.pem", "--tls-key", "/nowhere/key.pem"]
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", "plasma"] + options, status: 1,
        saying: "/nowhere/cert.pem")
    }

    @Test(arguments: [
      ["--size", "720"], ["--size", "0x0"], ["--size", "99999x99999"], ["--fps", "0"], ["--fps", "fast"],
      ["--bitrate", "much"], ["--bitrate", "-1"], ["--scaling", "stretch"], ["--source", "teapot"],
      ["--audio", "teapot"],
      ["--rtsp-port", "70000"], ["--user", "nameonly"], ["--stream", "name=a,colour=red"], ["--no-such-option"],
      ["--rtsps-port", "0"], ["--name", "a/b c"],
    ])
    func `an invalid option`(option: [String]) async throws {
      try await expectRefusal(["serve"] + option, status: 64, saying: nil)
    }
  }
}

/// Expects that the program exits with one line of error that has a cause and a next step.
///
/// - Parameters:
///   - status: Expected exit status: 64 for a wrong option or configuration, else 1.
///   - words: Text that the line must contain.
func expectRefusal(
  _ arguments: [String], input: Pipe? = nil, environment: [String: String] = [:], status: Int32, saying words: String?
) async throws {
  let (exit, errors) = try await VidiconProcess.run(arguments, input: input, environment: environment)
  #expect(exit == .status(status), "\(arguments): \(errors)")
  let lines = errors.split(separator: "\n")
  #expect(lines.count == 1, "\(arguments): \(errors)")
  #expect(errors.hasPrefix("vidicon: ") && errors.contains("; "), "\(arguments): \(errors)")
  if let words { #expect(errors.contains(words), "\(arguments): \(errors)") }
}
