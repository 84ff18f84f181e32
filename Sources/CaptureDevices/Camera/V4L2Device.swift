internal import CV4L2
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// An open video device. Its calls never wait, and may come from several threads; it is closed with the last reference.
final class V4L2Device: Sendable {
  /// What it says of itself.
  struct Identity: Hashable, Sendable {
    var driver: String
    /// The name of the camera, for people.
    var card: String
    /// Where it is plugged in.
    var bus: String
    var isMultiPlanar: Bool

    /// Whether its pictures come over USB.
    var isUSB: Bool {
      self.bus.hasPrefix("usb")
    }
  }

  /// The node.
  let path: String
  let descriptor: Int32
  let identity: Identity

  /// Opens a camera.
  ///
  /// - Parameters:
  ///   - path: The node.
  ///   - source: The camera, as its user names it.
  /// - Throws: ``VidiconError`` when it cannot be opened, or is no camera.
  convenience init(path: String, source: String) throws(VidiconError) {
    do throws(V4L2Failure) {
      try self.init(path: path)
    } catch {
      throw error.captureError(source: source, path: path)
    }
  }

  /// Opens a camera.
  init(path: String) throws(V4L2Failure) {
    var descriptor: Int32 = -1
    let status = vidicon_v4l2_open(path, &descriptor)
    guard status == 0 else { throw V4L2Failure(call: .open, number: status) }
    var capability = vidicon_v4l2_capability()
    let queryStatus = vidicon_v4l2_query_capability(descriptor, &capability)
    guard queryStatus == 0, capability.captures, capability.streams else {
      close(descriptor)
      throw V4L2Failure(
        call: .query, number: queryStatus, kind: queryStatus == 0 ? Self.kind(of: capability) : nil)
    }
    self.path = path
    self.descriptor = descriptor
    self.identity = Identity(
      driver: text(capability.driver), card: text(capability.card), bus: text(capability.bus),
      isMultiPlanar: capability.is_multi_planar)
  }

  deinit {
    close(self.descriptor)
  }

  /// Whether it still answers.
  var isThere: Bool {
    var capability = vidicon_v4l2_capability()
    let status = vidicon_v4l2_query_capability(self.descriptor, &capability)
    return status == 0 || !V4L2Failure(call: .query, number: status).isGone
  }

  /// What a device is that gives no pictures.
  private static func kind(of capability: vidicon_v4l2_capability) -> String {
    if capability.is_memory_to_memory { return "a codec or scaler" }
    if capability.captures { return "a device that only read() takes pictures from" }
    if capability.is_metadata { return "the part of one that describes its pictures" }
    return capability.is_output ? "a device that shows pictures" : "another kind of video device"
  }

  /// Makes a failure of what a call returned.
  func check(_ status: Int32, _ call: V4L2Failure.Call) throws(V4L2Failure) {
    guard status == 0 else { throw V4L2Failure(call: call, number: status) }
  }
}

/// The text in an array of C, up to its zero.
func text<Characters>(_ characters: Characters) -> String {
  withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
