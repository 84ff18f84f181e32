internal import Capture
internal import Media

/// The user's and the stream's requests to a camera.
struct CameraRequest: Hashable, Sendable {
  /// The camera and the user's options, which take precedence.
  var specification: CameraSpecification
  /// Width in pixels for the stream.
  var width: Int
  /// Height in pixels for the stream.
  var height: Int
  /// Frame rate for the stream, in frames per second.
  var frameRate: FrameRate

  /// The camera as the user specified it, for messages.
  var source: String {
    self.specification.text
  }

  /// The requested size, clamped to 1...``CameraMode/maximumSide``.
  var size: (width: Int, height: Int) {
    func side(_ pixels: Int) -> Int { min(max(1, pixels), CameraMode.maximumSide) }
    return (
      side(self.specification.width ?? self.width), side(self.specification.height ?? self.height)
    )
  }

  /// Chooses the best format that a camera offers.
  ///
  /// - Throws: ``VidiconError`` when the camera offers no supported format, or not the requested one.
  func choose(from device: V4L2Device) throws(VidiconError) -> CameraFormatChooser.Choice {
    let modes = device.modes(near: self.size)
    let chooser = CameraFormatChooser(
      width: self.size.width, height: self.size.height, frameRate: self.specification.frameRate ?? self.frameRate,
      accepts: self.specification.accepts, prefersH264: self.specification.format == "h264",
      usbSpeed: device.identity.isUSB ? USBSpeed(ofNode: device.path) ?? .highSpeed : nil)
    if let choice = chooser.choose(from: modes) { return choice }
    var seen: Set<FourCC> = []
    let offered = modes.map(\.fourCC).filter { seen.insert($0).inserted }.map(\.description).joined(separator: ", ")
    guard let format = self.specification.format, !offered.isEmpty else {
      throw VidiconError(
        .invalidData, subject: self.source,
        cause: offered.isEmpty
          ? "it offers no video format" : "none of its pixel formats is supported (\(offered))",
        nextStep: "choose another camera; list them with: vidicon devices")
    }
    throw VidiconError(
      .invalidSpecification, subject: self.source, cause: "it does not offer the format \(format)",
      nextStep: "leave format= out; it offers \(offered)")
  }
}
