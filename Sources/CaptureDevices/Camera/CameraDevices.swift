package import Capture
internal import Libc
internal import Media

/// The cameras of this machine.
package enum CameraDevices {
  private static let enumerator = DeviceEnumerator<CaptureDevice?>(threadName: "cameras", timeout: .seconds(2))

  /// Lists all connected cameras in the order of their nodes.
  ///
  /// All possible nodes are opened, since not every system lists its devices. A camera that is disconnected meanwhile is
  /// left out; one that cannot be opened or does not respond within 2 s is listed with its problem. Blocks.
  package static func devices() -> [CaptureDevice] {
    let links = CameraFinder.links()
    let results = self.enumerator.results(for: CameraFinder.paths) { self.device(at: $0, link: links[$0]) }
    return zip(CameraFinder.paths, results).compactMap { path, result in
      if let result { return result }
      return self.camera(path, link: links[path], problem: "it does not respond; unplug it and plug it in again")
    }
  }

  /// The camera at a node; nil when there is no camera.
  private static func device(at path: String, link: String?) -> CaptureDevice? {
    do throws(V4L2Failure) {
      let device = try V4L2Device(path: path)
      let found = CameraFinder.Found(path: path, identity: device.identity, byID: link)
      let formats = device.modes().map {
        CaptureDeviceFormat(
          name: $0.fourCC.description, width: $0.width, height: $0.height, frameRates: $0.frameRates)
      }
      let controls = device.controls.map(\.control)
      guard device.isPresent else { return nil }
      return CaptureDevice(
        kind: .camera, specification: "v4l2:\(path)", name: found.identity.card, stableName: found.stableName,
        formats: formats, controls: controls,
        problem: formats.isEmpty ? "it offers no video; choose another of its nodes" : nil,
        position: device.position)
    } catch {
      // Missing nodes, and devices that are not cameras, are not listed.
      guard !error.isGone, error.call == .open, error.number != ENOTDIR else { return nil }
      let problem = error.vidiconError(source: "v4l2:\(path)", path: path)
      return self.camera(path, link: link, problem: "\(problem.cause); \(problem.nextStep)")
    }
  }

  /// A camera that cannot be used.
  private static func camera(_ path: String, link: String?, problem: String) -> CaptureDevice {
    CaptureDevice(
      kind: .camera, specification: "v4l2:\(path)", name: link ?? path, stableName: link ?? path, problem: problem)
  }
}
