package import Capture
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The cameras of this machine.
package enum CameraDevices {
  private static let survey = DeviceSurvey<CaptureDevice?>(named: "cameras", within: .seconds(2))

  /// Every camera that is there, in the order of the nodes.
  ///
  /// Nodes are tried one by one, since not every system lists its devices. No call waits for a picture; a camera that is
  /// pulled out meanwhile is left out, and one that may not be opened, or does not answer, is there with its problem.
  package static func devices() -> [CaptureDevice] {
    let links = CameraFinder.links()
    let answers = self.survey.answers(of: CameraFinder.paths) { self.device(at: $0, link: links[$0]) }
    return zip(CameraFinder.paths, answers).compactMap { path, answer in
      if let answer { return answer }
      return self.camera(path, link: links[path], problem: "it does not answer; unplug it and plug it in again")
    }
  }

  /// The camera at a node; nil when there is none.
  private static func device(at path: String, link: String?) -> CaptureDevice? {
    do throws(V4L2Failure) {
      let device = try V4L2Device(path: path)
      let found = CameraFinder.Found(path: path, identity: device.identity, byID: link)
      let formats = device.modes().map {
        CaptureDeviceFormat(
          name: $0.fourCC.description, width: $0.width, height: $0.height, frameRates: $0.frameRates)
      }
      let controls = device.controls.map(\.control)
      guard device.isThere else { return nil }
      return CaptureDevice(
        kind: .camera, specification: "v4l2:\(path)", name: found.identity.card, stableName: found.stableName,
        formats: formats, controls: controls,
        problem: formats.isEmpty ? "it offers no pictures; choose another of its nodes" : nil,
        position: device.position)
    } catch {
      // Those that are not there, and those that are no cameras.
      guard !error.isGone, error.call == .open, error.number != ENOTDIR else { return nil }
      let problem = error.captureError(source: "v4l2:\(path)", path: path)
      return self.camera(path, link: link, problem: "\(problem.cause); \(problem.nextStep)")
    }
  }

  /// One that cannot be used.
  private static func camera(_ path: String, link: String?, problem: String) -> CaptureDevice {
    CaptureDevice(
      kind: .camera, specification: "v4l2:\(path)", name: link ?? path, stableName: link ?? path, problem: problem)
  }
}
