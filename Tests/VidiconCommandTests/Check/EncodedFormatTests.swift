import ArgumentParser
import Capture
import Media
import Streaming
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Format for which a check measures an encoder", .timeLimit(.minutes(5)))
struct EncodedFormatTests {
  /// Two cameras, of which the second one offers 1920 by 1080 pixels at 60 frames per second, and a screen with a window.
  private static func devices() -> SourceVideo.Devices {
    func camera(_ number: Int, _ formats: [CaptureDeviceFormat]) -> CaptureDevice {
      CaptureDevice(
        kind: .camera, specification: "v4l2:/dev/video\(number)", name: "Camera \(number)", stableName: "usb-\(number)",
        formats: formats)
    }
    func screen(_ options: String, _ width: Int, _ height: Int) -> CaptureDevice {
      let format = CaptureDeviceFormat(
        name: "BGRA", width: width, height: height, frameRates: .range(FrameRate(1)...FrameRate(240)))
      return CaptureDevice(
        kind: .screen, specification: "screen::7\(options)", name: "Screen", stableName: "screen", formats: [format])
    }
    let devices = SourceVideo.Devices()
    devices.cameras = [
      camera(0, [CaptureDeviceFormat(name: "YUYV", width: 640, height: 480, frameRates: .discrete([15]))]),
      camera(
        1,
        [
          CaptureDeviceFormat(name: "MJPG", width: 1280, height: 720, frameRates: .discrete([30])),
          CaptureDeviceFormat(name: "MJPG", width: 1920, height: 1080, frameRates: .discrete([30, 60])),
        ]),
    ]
    devices.screens = [screen("", 3840, 2161), screen("?window=0x1f", 800, 600)]
    return devices
  }

  /// The measured format of the first stream of a command.
  private static func text(_ arguments: [String]) throws -> String {
    let streams = try ServeConfiguration(unchecked: ServeCommand.parse(arguments)).streams
    let source = SourceVideo(of: streams[0], isOnly: streams.count == 1, devices: self.devices())
    return EncodedFormat(streams[0].video, source: source).text(encoder: "libx264")
  }

  @Test(
    arguments: [
      (
        ["--source", "v4l2:/dev/video1?size=1920x1080&fps=60"],
        "1920x1080 at 60 fps with libx264, as the camera delivers it"
      ),
      (["--source", "v4l2:/dev/video1"], "1280x720 at 30 fps with libx264, as the camera delivers it"),
      // The rate of a source is an upper bound, and a size of the stream is that of the encoder.
      (["--source", "v4l2:/dev/video0", "--fps", "30"], "640x480 at 15 fps with libx264, as the camera delivers it"),
      (
        ["--source", "v4l2:/dev/video1?size=1920x1080", "--size", "640x360", "--fps", "30"],
        "640x360 at 30 fps with libx264"
      ),
      ([], "640x480 at 15 fps with libx264, as the camera delivers it"),
      (
        ["--source", "v4l2:/dev/video9?size=1920x1080"],
        "1920x1080 at 30 fps with libx264, as the camera is asked for it"
      ),
      (["--source", "screen::7"], "3840x2160 at 30 fps with libx264, as the screen has it"),
      (
        ["--source", "screen::7?region=3000,0,2000,100&fps=60"], "840x100 at 60 fps with libx264, as the screen has it"
      ),
      (["--source", "screen:?window=0x1f", "--fps", "15"], "800x600 at 15 fps with libx264, as the screen has it"),
      (["--source", "bars"], "1280x720 at 30 fps with libx264"),
      (["--source", "noise", "--size", "1920x1080", "--fps", "60"], "1920x1080 at 60 fps with libx264"),
      (
        ["--source", "rtsp://camera/live"],
        "1280x720 at 30 fps with libx264, assumed, since the format of the source is not known yet"
      ),
      (
        ["--source", "screen::8"],
        "1280x720 at 30 fps with libx264, assumed, since the format of the source is not known yet"
      ),
      (["--source", "rtsp://camera/live", "--size", "640x360", "--fps", "15"], "640x360 at 15 fps with libx264"),
    ] as [([String], String)])
  func `the format is that of the source, as far as the stream does not set it`(
    arguments: [String], text: String
  ) throws {
    #expect(try Self.text(arguments) == text)
  }

  @Test func `a file has its size and rate, and a missing one is not known`() throws {
    let path = try TestMedia.flashAndBeep("check-encoder.mp4")
    #expect(try Self.text(["--source", "file:\(path)"]) == "160x96 at 25 fps with libx264, as the file has it")
    #expect(try Self.text(["--source", "file:/nowhere/film.mp4"]).contains("assumed"))
  }

  @Test func `what is measured is the format`() {
    let settings = VideoSettings(frameRate: 60, bitrate: 1_000_000)
    let source = SourceVideo(width: 101, height: 60, frameRate: 25)
    let measured = settings.with(EncodedFormat(settings, source: source))
    #expect(measured.width == 100 && measured.height == 60 && measured.frameRate == 25)
    #expect(measured.bitrate == 1_000_000)
  }
}
