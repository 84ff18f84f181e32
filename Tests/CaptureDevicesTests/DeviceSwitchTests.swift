#if os(Linux)
import FakeCamera
import Foundation
import Testing
import TestSupport

extension Screens {
  @Suite("Switching between devices")
  struct DeviceSwitchTests {
    // A leak is waited for five minutes, twice.
    @Test(.timeLimit(.minutes(15)))
    func `a hundred switches between cameras, a screen and a network source leak nothing`() async throws {
      let jpegs = try TestMedia.path(
        "switch.mjpeg",
        ["-f", "lavfi", "-i", "smptebars=s=320x240:r=30", "-frames:v", "4", "-f", "image2pipe", "-c:v", "mjpeg"])
      _ = try TestMedia.path(
        "switch.m3u8",
        [
          "-f", "lavfi", "-i", "testsrc=s=320x180:r=30:d=4", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-bf", "0",
          "-g", "30", "-hls_time", "1", "-hls_list_size", "0", "-f", "hls",
        ])
      let server = try LocalServer.files(in: TestMedia.folder.path)
      let display = try TestDisplay("320x240x24")
      let lines = try await BuiltProgram("SwitchProbe").lines(
        [
          "100", "v4l2:/dev/video0", "screen:\(display.name)", "http://127.0.0.1:\(server.port)/switch.m3u8",
          "v4l2:/dev/video1", "v4l2:/dev/video9",
        ],
        environment: try FakeCamera.environment([
          "formats=YUYV 320x240 30", "path=/dev/video1;formats=MJPG 320x240 30;file=\(jpegs)",
        ]))
      try #require(lines.count == 4, "\(lines)")
      #expect(ResourceUsage(lines[1]).growth(since: ResourceUsage(lines[0])) == [], "\(lines)")
      // Every third audio source and every fifth video source of a hundred does not exist.
      #expect(lines[2].hasPrefix("failures=53 ") && lines[2].hasSuffix(" rises=true"), "\(lines)")
      #expect(lines[3] == "ended with 0 sources")
    }
  }
}
#endif
