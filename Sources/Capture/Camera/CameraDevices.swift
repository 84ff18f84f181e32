internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The cameras of this machine.
package enum CameraDevices {
  /// Every camera that is there, in the order of the nodes.
  ///
  /// Nodes are tried one by one, since not every system lists its devices. No call waits for a picture; a camera that is
  /// pulled out meanwhile is left out, and one that may not be opened is there with its problem.
  package static func devices() -> [CaptureDevice] {
    let links = CameraFinder.links()
    return CameraFinder.paths.compactMap { path in
      let specification = "v4l2:\(path)"
      do throws(V4L2Failure) {
        let device = try V4L2Device(path: path)
        let found = CameraFinder.Found(path: path, identity: device.identity, byID: links[path])
        let formats = device.modes().map {
          CaptureDeviceFormat(
            name: $0.fourCC.description, width: $0.width, height: $0.height, frameRates: $0.frameRates)
        }
        let controls = device.controls.map(\.control)
        guard device.isThere else { return nil }
        return CaptureDevice(
          kind: .camera, specification: specification, name: found.identity.card, stableName: found.stableName,
          formats: formats, controls: controls,
          problem: formats.isEmpty ? "it offers no pictures; choose another of its nodes" : nil,
          position: device.position)
      } catch {
        // Those that are not there, and those that are no cameras.
        guard !error.isGone, error.call == .open, error.number != ENOTDIR else { return nil }
        let problem = error.captureError(source: specification, path: path)
        return CaptureDevice(
          kind: .camera, specification: specification, name: links[path] ?? path, stableName: links[path] ?? path,
          problem: "\(problem.cause); \(problem.nextStep)")
      }
    }
  }
}
