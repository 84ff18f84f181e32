internal import CV4L2
internal import Libc
internal import Media

/// An open video device; closed with the last reference. Its calls never block and may come from several threads.
final class V4L2Device: Sendable {
  /// The device's answer to `VIDIOC_QUERYCAP`.
  struct Identity: Hashable, Sendable {
    var driver: String
    /// Human-readable name of the camera.
    var card: String
    /// Port to which the camera is connected.
    var bus: String
    var isMultiPlanar: Bool

    /// Whether the camera is connected over USB.
    var isUSB: Bool {
      self.bus.hasPrefix("usb")
    }
  }

  /// The device node.
  let path: String
  let descriptor: Int32
  let identity: Identity

  /// Opens a camera.
  ///
  /// - Parameters:
  ///   - path: The device node.
  ///   - source: The camera as the user specified it, for messages.
  /// - Throws: ``VidiconError`` when the device cannot be opened or is not a camera.
  convenience init(path: String, source: String) throws(VidiconError) {
    do throws(V4L2Failure) {
      try self.init(path: path)
    } catch {
      throw error.vidiconError(source: source, path: path)
    }
  }

  /// Opens a camera.
  ///
  /// - Throws: ``V4L2Failure`` when the device cannot be opened or is not a camera.
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

  /// Whether the device still responds.
  var isPresent: Bool {
    var capability = vidicon_v4l2_capability()
    let status = vidicon_v4l2_query_capability(self.descriptor, &capability)
    return status == 0 || !V4L2Failure(call: .query, number: status).isGone
  }

  /// Kind of a device that is not a camera, for messages.
  private static func kind(of capability: vidicon_v4l2_capability) -> String {
    if capability.is_memory_to_memory { return "a codec or scaler" }
    if capability.captures { return "a device without streaming, which only read() captures from" }
    if capability.is_metadata { return "the metadata node of one" }
    return capability.is_output ? "a video output" : "another kind of video device"
  }

  /// Throws a failure unless a call returned 0.
  func check(_ status: Int32, _ call: V4L2Failure.Call) throws(V4L2Failure) {
    guard status == 0 else { throw V4L2Failure(call: call, number: status) }
  }
}

/// Decodes a zero-terminated C character array as UTF-8.
func text<Characters>(_ characters: Characters) -> String {
  withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

extension V4L2Device {
  /// Selects an input; does nothing for nil.
  ///
  /// - Throws: ``VidiconError`` whose next step lists the inputs when there is none of this number.
  func setInput(_ input: Int?, source: String) throws(VidiconError) {
    guard let input else { return }
    do throws(V4L2Failure) {
      try self.check(vidicon_v4l2_set_input(self.descriptor, Int32(clamping: input)), .input)
    } catch {
      guard error.number == EINVAL || error.number == ENOTTY else {
        throw error.vidiconError(source: source, path: self.path)
      }
      let inputs = self.inputs.enumerated().map { "\($0.offset) (\($0.element))" }
      throw VidiconError(
        .invalidSpecification, subject: source, cause: "it has no input \(input)",
        nextStep: inputs.isEmpty ? "leave input= out" : "use \(inputs.joined(separator: ", "))")
    }
  }

  private var inputs: [String] {
    var names: [String] = []
    var name = vidicon_v4l2_control().name
    while names.count < 64 {
      let status = withUnsafeMutableBytes(of: &name) {
        vidicon_v4l2_get_input_name(
          self.descriptor, UInt32(names.count), $0.assumingMemoryBound(to: CChar.self).baseAddress)
      }
      guard status == 0 else { break }
      names.append(text(name))
    }
    return names
  }

  /// Sets pixel format and size, with whole frames where the driver has them.
  ///
  /// - Returns: The format that the driver has set, of single fields when it has nothing else; see ``CameraField``.
  func setFormat(_ choice: CameraFormatChooser.Choice) throws(V4L2Failure) -> vidicon_v4l2_format {
    var last = V4L2Failure(call: .format, number: EINVAL)
    var found: vidicon_v4l2_format?
    for field in CameraField.requests {
      var set = vidicon_v4l2_format()
      set.fourcc = choice.fourCC.rawValue
      (set.width, set.height, set.field) = (UInt32(choice.width), UInt32(choice.height), field)
      let status = vidicon_v4l2_set_format(self.descriptor, self.identity.isMultiPlanar, &set)
      if status == 0, CameraField(set.field, height: set.height).hasWholeFrames { return set }
      if status == 0 { found = set }
      last = V4L2Failure(call: .format, number: status)
      guard status == 0 || status == EINVAL else { throw last }
    }
    guard let found else { throw last }
    return found
  }

  /// Sets the frame rate.
  ///
  /// - Returns: The frame rate that the driver has set; the requested one when the driver reports none.
  func setFrameRate(_ wanted: FrameRate) -> FrameRate {
    var (numerator, denominator) = (UInt32(wanted.denominator), UInt32(wanted.numerator))
    let status = vidicon_v4l2_set_interval(self.descriptor, self.identity.isMultiPlanar, &numerator, &denominator)
    return status == 0 ? FrameRate(interval: numerator, over: denominator) ?? wanted : wanted
  }
}

extension vidicon_v4l2_format {
  /// Distance between rows of each memory, in bytes.
  var bytesPerLine: [Int] {
    withUnsafeBytes(of: self.bytes_per_line) {
      $0.bindMemory(to: UInt32.self).prefix(Int(self.plane_count)).map(Int.init)
    }
  }

  /// Matrix of Y'CbCr formats: BT.709 for V4L2_YCBCR_ENC_709 and V4L2_COLORSPACE_REC709, else BT.601.
  var colorMatrix: ColorMatrix {
    self.matrix == 2 || (self.matrix == 0 && self.colorspace == 3) ? .bt709 : .bt601
  }

  /// Whether samples are in full range: V4L2_QUANTIZATION_FULL_RANGE, or the default of V4L2_COLORSPACE_JPEG.
  var isFullRange: Bool {
    self.quantization == 1 || (self.quantization == 0 && self.colorspace == 7)
  }
}
