import Capture
import CaptureDevices
import Foundation
import Libc
import Media
import StreamControl

extension CameraFacts {
  /// Opens each camera for a moment; blocks for up to two seconds per camera that does not respond.
  init(_ configuration: ServeConfiguration) {
    self.init(configuration, devices: CameraDevices.devices()) { SystemDevices().uniqueNames(of: $0) }
    self.isInContainer = AddressFacts.isInContainer
    self.user = CurrentUser.word
    self.isService = CurrentUser.isService
    for index in self.cameras.indices { self.cameras[index].readNode() }
  }

  /// The cameras that streams ask for, among those that are connected.
  ///
  /// - Parameter names: The names of the cameras that a specification selects, beside those of the list, such as that of a bus; asked for
  ///   one that selects none of the list.
  init(
    _ configuration: ServeConfiguration, devices: [CaptureDevice],
    names: (CameraSpecification) -> Set<String> = { _ in [] }
  ) {
    self.init(cameras: devices.map { Camera(specification: $0.specification, name: $0.name, problem: $0.problem) })
    var selected: [Int: CameraSpecification] = [:]
    self.choosesItself = configuration.streams.count == 1 && configuration.streams[0].source == nil
    for stream in configuration.streams {
      guard case .camera(let camera)? = stream.videoSource else { continue }
      var indices = Self.selection(of: camera, among: devices)
      if indices.isEmpty, case .name = camera.device {
        let known = names(camera)
        indices = self.cameras.indices.filter { known.contains(self.cameras[$0].node) }
      }
      guard let index = indices.first else {
        self.missing.append((stream.name, "v4l2:\(camera.selection)"))
        continue
      }
      if indices.count > 1 { self.ambiguous.append((stream.name, "v4l2:\(camera.selection)")) }
      if self.cameras[index].request == nil {
        selected[index] = camera
        self.cameras[index].request = Request(of: stream, to: camera)
      }
    }
    for (index, device) in devices.enumerated() {
      let speed = USBSpeed(ofNode: self.cameras[index].node)
      self.cameras[index].speed = speed
      self.cameras[index].choice = Self.choice(
        of: device, for: self.cameras[index].request, selected[index] ?? CameraSpecification(), usbSpeed: speed)
    }
  }

  /// The format of a camera for what a stream asks for, or for 1280 by 720 pixels; nil where none can be used.
  static func choice(
    of device: CaptureDevice, for request: Request?, _ camera: CameraSpecification, usbSpeed: USBSpeed?
  ) -> CameraFormatChooser.Choice? {
    CameraFormatChooser(
      width: request?.width ?? 1280, height: request?.height ?? 720, frameRate: request?.frameRate ?? 30,
      accepts: camera.accepts, prefersH264: camera.format == "h264", usbSpeed: usbSpeed
    ).choose(from: device.formats.compactMap { CameraMode($0) })
  }

  /// Indices of the cameras of the list that a specification selects: by its node, a link to it, or a name. Of several with the name,
  /// those that can be used, of which `serve` then takes none.
  static func selection(of camera: CameraSpecification, among devices: [CaptureDevice]) -> [Int] {
    switch camera.device {
    case .first:
      // Of cameras none of which can be used, the first one has the reason.
      let index = devices.firstIndex { $0.problem == nil } ?? devices.indices.first
      return index.map { [$0] } ?? []
    case .path(let path):
      let target = URL(filePath: path).resolvingSymlinksInPath().path
      return devices.indices.filter { ["v4l2:\(path)", "v4l2:\(target)"].contains(devices[$0].specification) }
    case .name(let text):
      let wanted = text.lowercased()
      let criteria: [(String) -> Bool] = [{ $0 == wanted }, { $0.hasPrefix(wanted) }, { $0.contains(wanted) }]
      for criterion in criteria {
        let found = devices.indices.filter { index in
          [devices[index].name, devices[index].stableName].contains { criterion($0.lowercased()) }
        }
        let usable = found.filter { devices[$0].problem == nil }
        if !found.isEmpty { return usable.isEmpty ? [found[0]] : usable }
      }
      return []
    }
  }
}

extension CameraFacts.Request {
  /// Size and rate that a stream asks a camera for: those of the source, of the stream, or the default.
  init(of stream: StreamOptions, to camera: CameraSpecification) {
    self.init(
      stream: stream.name, width: camera.width ?? stream.size?.width ?? 1280,
      height: camera.height ?? stream.size?.height ?? 720, frameRate: camera.frameRate ?? stream.frameRate ?? 30)
  }
}

extension CameraFacts.Camera {
  /// Path of the node.
  var node: String { String(self.specification.dropFirst("v4l2:".count)) }

  /// Reads the rights to the node, the program that has it open, and its bus.
  fileprivate mutating func readNode() {
    self.bus = USBSpeed.bus(ofNode: self.node)
    self.holder = DeviceHolder.findOther(path: self.node)?.description
    var status = stat()
    guard access(self.node, R_OK | W_OK) != 0, errno == EACCES, stat(self.node, &status) == 0 else { return }
    // Joining root's group, or one without rights, does not help.
    guard status.st_gid != 0, status.st_mode & 0o060 == 0o060 else { return }
    let group = getgrgid(status.st_gid)
    self.missingGroup = group.map { String(cString: $0.pointee.gr_name) } ?? "\(status.st_gid)"
  }
}
