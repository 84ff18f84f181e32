import Capture
import CaptureDevices
import Foundation
import Libc
import Media
import MediaInput
import StreamControl

/// Size and rate of the video that a source delivers, as far as that is known before the stream starts.
struct SourceVideo: Equatable, Sendable {
  /// Width in pixels.
  var width: Int
  /// Height in pixels.
  var height: Int
  var frameRate: FrameRate
  /// Words for where size and rate are from, such as `as the camera delivers it`; nil for generated video, which has those of the stream.
  var origin: String?

  /// Devices of this machine, which are listed once, when a stream needs them; that may block. Used by one thread.
  final class Devices {
    lazy var cameras = CameraDevices.devices()
    lazy var screens = ScreenDevices.devices()
  }
}

extension SourceVideo {
  /// The video of a stream's source; nil where it is not known, as of a network source, which is not connected to.
  ///
  /// - Parameters:
  ///   - isOnly: Whether the stream is the only one, whose source is the first camera where none is given.
  ///   - devices: Cameras and screens.
  init?(of stream: StreamOptions, isOnly: Bool, devices: Devices) {
    let generated = SourceVideo(
      width: stream.size?.width ?? 1280, height: stream.size?.height ?? 720, frameRate: stream.frameRate ?? 30)
    guard stream.source != nil else {
      let camera = isOnly ? devices.cameras.first { $0.problem == nil } : nil
      self = camera.flatMap { SourceVideo(of: $0, CameraSpecification(), stream) } ?? generated
      return
    }
    guard let video = stream.videoSource else { return nil }
    switch video {
    case .plasma, .noise, .bars: self = generated
    case .camera(let camera):
      let list = devices.cameras
      if let index = CameraFacts.selection(of: camera, among: list).first,
        let found = SourceVideo(of: list[index], camera, stream)
      {
        self = found
      } else {
        let request = CameraFacts.Request(of: stream, to: camera)
        self.init(
          width: request.width, height: request.height, frameRate: request.frameRate,
          origin: "as the camera is asked for it")
      }
    case .screen(let screen): self.init(of: screen, stream, among: devices.screens)
    case .file(let path): self.init(ofFile: path)
    case .pipe, .network, .published, .other: return nil
    }
  }

  /// The video of a camera; nil where none of its formats can be used.
  private init?(of device: CaptureDevice, _ camera: CameraSpecification, _ stream: StreamOptions) {
    let speed = USBSpeed(ofNode: String(device.specification.dropFirst("v4l2:".count)))
    let request = CameraFacts.Request(of: stream, to: camera)
    guard let choice = CameraFacts.choice(of: device, for: request, camera, usbSpeed: speed) else { return nil }
    self.init(
      width: choice.width, height: choice.height, frameRate: choice.frameRate, origin: "as the camera delivers it")
  }

  /// The video of a screen or window; nil for another display than that of the environment.
  private init?(of screen: ScreenSpecification, _ stream: StreamOptions, among devices: [CaptureDevice]) {
    let device = devices.first { device in
      let parts = device.specification.split(separator: "?", maxSplits: 1).map(String.init)
      guard screen.display.map({ parts.first == "screen:\($0)" }) ?? true else { return false }
      // Monitors are regions of their screen.
      return parts.dropFirst().first == screen.window.map { "window=0x\(String($0, radix: 16))" }
    }
    guard let format = device?.formats.first, var width = format.width, var height = format.height else { return nil }
    if let region = screen.region {
      width = min(region.width, max(1, width - region.x))
      height = min(region.height, max(1, height - region.y))
    }
    self.init(
      width: width, height: height, frameRate: screen.frameRate ?? stream.frameRate ?? 30,
      origin: "as the screen has it")
  }

  /// The video of a file on a disk; nil for what is none, as a named pipe, and without video.
  private init?(ofFile path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let summary = try? ContainerSummary(path: path), let size = summary.videoSize, let rate = summary.frameRate
    else { return nil }
    self.init(width: size.width, height: size.height, frameRate: rate, origin: "as the file has it")
  }
}
