internal import CYUV
package import Media

/// Converts frames of any format, size and orientation to the encoder's: I420, upright, of the output size. A frame
/// that has that form already is returned unchanged.
///
/// Used on the pipeline's thread only.
package final class FrameConverter {
  /// Format of the encoder, to which all frames are converted.
  package let format: VideoFormat
  private let scaling: VideoSettings.Scaling
  private let pool: VideoFramePool
  private var scratch: [PixelBuffer] = []

  /// - Parameter format: The encoder's format: I420, of even size.
  package init(format: VideoFormat, scaling: VideoSettings.Scaling) {
    self.format = format
    self.scaling = scaling
    self.pool = VideoFramePool(format: format)
  }

  /// Returns the converted frame; nil when all pooled buffers are still in use by a slow encoder.
  ///
  /// - Parameters:
  ///   - matrix: Color matrix of Y'CbCr pixels. Converted to the output's, so that colors do not depend on the source.
  ///   - isPrivate: Whether the frame is copied even where no conversion is needed, so that effects can draw on it.
  package func draw(_ frame: VideoFrame, matrix: ColorMatrix, isPrivate: Bool = false) -> VideoFrame? {
    let source = frame.format
    // libyuv converts RGB to BT.601.
    let matrix = source.pixelFormat.isYCbCr ? matrix : .bt601
    let isRecolored = matrix != self.format.colorMatrix
    let isReady =
      source.pixelFormat == .i420 && frame.orientation == .up && !frame.isMirrored
      && source.width == self.format.width && source.height == self.format.height
    if isReady, !isRecolored, !isPrivate { return frame }
    return self.pool.frame(at: frame.timestamp) { buffer in
      let output = I420Planes(buffer)
      if !isReady {
        self.draw(frame, into: output)
      } else if !isRecolored {
        output.convert(frame.buffer)
      }
      // Last, since the output is of even size; black bars are black in every matrix.
      if isRecolored {
        output.recolor(isReady ? I420Planes(frame.buffer) : output, from: matrix, to: self.format.colorMatrix)
      }
      withExtendedLifetime(frame) {}
    }
  }

  /// Converts, rotates, mirrors and places; the last step needed writes to the output, earlier ones to scratch buffers.
  private func draw(_ frame: VideoFrame, into output: I420Planes) {
    let isRotated = frame.orientation.swapsWidthAndHeight
    let (width, height) = (frame.format.width, frame.format.height)
    let (uprightWidth, uprightHeight) = isRotated ? (height, width) : (width, height)
    let isPlaced = uprightWidth != output.width || uprightHeight != output.height
    let isRotatedOrFlipped = frame.orientation != .up

    var planes = I420Planes(frame.buffer)
    if frame.format.pixelFormat != .i420 {
      let isLast = !isRotatedOrFlipped && !frame.isMirrored && !isPlaced
      let target = isLast ? output : self.scratch(0, width: width, height: height)
      target.convert(frame.buffer)
      planes = target
    }
    if isRotatedOrFlipped {
      let isLast = !frame.isMirrored && !isPlaced
      let target = isLast ? output : self.scratch(1, width: uprightWidth, height: uprightHeight)
      target.rotate(planes, by: frame.orientation)
      planes = target
    }
    if frame.isMirrored {
      let target = isPlaced ? self.scratch(2, width: uprightWidth, height: uprightHeight) : output
      target.mirror(planes)
      planes = target
    }
    if isPlaced {
      self.place(planes, on: output)
    }
    // Keeps the source's buffer alive until here.
    withExtendedLifetime(frame) {}
  }

  private func place(_ planes: I420Planes, on output: I420Planes) {
    switch self.scaling {
    case .fit:
      let area = Self.fit(width: planes.width, height: planes.height, into: output)
      output.blackenOutside(area)
      output.part(area).scale(planes)
    case .fill:
      output.scale(planes.part(Self.fit(width: output.width, height: output.height, into: planes)))
    }
  }

  /// The largest centered area of the given aspect ratio, at even coordinates.
  static func fit(width: Int, height: Int, into planes: I420Planes) -> I420Planes.Area {
    var (areaWidth, areaHeight) = (planes.width, planes.height)
    if width * planes.height > planes.width * height {
      areaHeight = max(2, (planes.width * height + width / 2) / width & ~1)
    } else {
      areaWidth = max(2, (planes.height * width + height / 2) / height & ~1)
    }
    areaWidth = min(areaWidth, planes.width)
    areaHeight = min(areaHeight, planes.height)
    return I420Planes.Area(
      x: (planes.width - areaWidth) / 2 & ~1, y: (planes.height - areaHeight) / 2 & ~1, width: areaWidth,
      height: areaHeight)
  }

  /// Reusable buffer of one conversion step.
  private func scratch(_ index: Int, width: Int, height: Int) -> I420Planes {
    while self.scratch.count <= index {
      self.scratch.append(PixelBuffer(format: VideoFormat(width: width, height: height)))
    }
    if self.scratch[index].format.width != width || self.scratch[index].format.height != height {
      self.scratch[index] = PixelBuffer(format: VideoFormat(width: width, height: height))
    }
    return I420Planes(self.scratch[index])
  }
}
