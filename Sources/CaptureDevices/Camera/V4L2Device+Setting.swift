internal import CV4L2
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension V4L2Device {
  /// Chooses an input; nil leaves it.
  ///
  /// - Throws: ``VidiconError`` that lists the inputs when there is none of this number.
  func setInput(_ input: Int?, source: String) throws(VidiconError) {
    guard let input else { return }
    do throws(V4L2Failure) {
      try self.check(vidicon_v4l2_set_input(self.descriptor, Int32(clamping: input)), .input)
    } catch {
      guard error.number == EINVAL || error.number == ENOTTY else {
        throw error.captureError(source: source, path: self.path)
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

  /// Sets the pictures a second.
  ///
  /// - Returns: Those that the driver then says it gives; the wanted ones when it says nothing.
  func setFrameRate(_ wanted: FrameRate) -> FrameRate {
    var (numerator, denominator) = (UInt32(wanted.denominator), UInt32(wanted.numerator))
    let status = vidicon_v4l2_set_interval(self.descriptor, self.identity.isMultiPlanar, &numerator, &denominator)
    return status == 0 ? FrameRate(interval: numerator, over: denominator) ?? wanted : wanted
  }
}

extension vidicon_v4l2_format {
  /// Of each memory.
  var bytesPerLine: [Int] {
    withUnsafeBytes(of: self.bytes_per_line) {
      $0.bindMemory(to: UInt32.self).prefix(Int(self.plane_count)).map(Int.init)
    }
  }

  /// The matrix behind Y'CbCr pictures: V4L2_YCBCR_ENC_709, or that of the colour space V4L2_COLORSPACE_REC709.
  var colorMatrix: ColorMatrix {
    self.matrix == 2 || (self.matrix == 0 && self.colorspace == 3) ? .bt709 : .bt601
  }

  /// Whether pictures are of full range: V4L2_QUANTIZATION_FULL_RANGE, or the default of V4L2_COLORSPACE_JPEG.
  var isFullRange: Bool {
    self.quantization == 1 || (self.quantization == 0 && self.colorspace == 7)
  }
}
