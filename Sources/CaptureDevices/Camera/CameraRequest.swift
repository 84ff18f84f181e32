internal import Media

/// What is wanted of a camera.
struct CameraRequest: Hashable, Sendable {
  /// Which camera, and what its user asks for.
  var specification: CameraSpecification
  /// What the stream would like, where the user does not say.
  var width: Int
  var height: Int
  var frameRate: FrameRate

  /// The camera, as its user names it.
  var source: String {
    self.specification.text
  }

  /// The size to look for, within what cameras have.
  var size: (width: Int, height: Int) {
    func side(_ pixels: Int) -> Int { min(max(1, pixels), CameraMode.largestSide) }
    return (
      side(self.specification.width ?? self.width), side(self.specification.height ?? self.height)
    )
  }

  /// The best of what a camera offers.
  ///
  /// - Throws: ``VidiconError`` when it offers nothing that is understood, or not the format that is asked for.
  func choose(from device: V4L2Device) throws(VidiconError) -> CameraFormatChooser.Choice {
    let modes = device.modes(near: self.size)
    let chooser = CameraFormatChooser(
      width: self.size.width, height: self.size.height, frameRate: self.specification.frameRate ?? self.frameRate,
      accepts: self.specification.accepts, prefersH264: self.specification.format == "h264",
      isUSB: device.identity.isUSB)
    if let choice = chooser.choose(from: modes) { return choice }
    var seen: Set<FourCC> = []
    let offered = modes.map(\.fourCC).filter { seen.insert($0).inserted }.map(\.description).joined(separator: ", ")
    guard let format = self.specification.format, !offered.isEmpty else {
      throw VidiconError(
        .invalidData, subject: self.source,
        cause: offered.isEmpty
          ? "it offers no pictures" : "its pictures are of kinds that are not understood (\(offered))",
        nextStep: "choose another camera; see what there is with: vidicon devices")
    }
    throw VidiconError(
      .invalidSpecification, subject: self.source, cause: "it offers no \(format) that can be used",
      nextStep: "leave format= out; it offers \(offered)")
  }
}
