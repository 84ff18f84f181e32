internal import CYUV
package import Media

/// Brings pictures of any format, size and orientation into the form that the encoder takes: I420, upright, of the
/// canvas' size. A picture that has that form already passes through untouched.
///
/// Used by the pipeline's thread only.
package final class FrameConverter {
  /// The encoder's format.
  package let format: VideoFormat
  private let scaling: VideoSettings.Scaling
  private let pool: VideoFramePool
  private var scratch: [PixelBuffer] = []

  /// A canvas of the encoder's format: I420, of even size.
  package init(format: VideoFormat, scaling: VideoSettings.Scaling) {
    self.format = format
    self.scaling = scaling
    self.pool = VideoFramePool(format: format)
  }

  /// The picture on the canvas; nil when all of its memory is still in use by a slow encoder.
  ///
  /// - Parameters:
  ///   - matrix: The one behind the picture's pixels where they are Y'CbCr. Where the canvas has another one the colours
  ///     are brought into that, so that they are the same whatever the source.
  ///   - isPrivate: Whether the picture is copied even where it passes through untouched, to be drawn upon.
  package func draw(_ frame: VideoFrame, matrix: ColorMatrix, isPrivate: Bool = false) -> VideoFrame? {
    let source = frame.format
    // libyuv makes BT.601 of RGB.
    let matrix = source.pixelFormat.isYCbCr ? matrix : .bt601
    let isRecolored = matrix != self.format.colorMatrix
    let isReady =
      source.pixelFormat == .i420 && frame.orientation == .up && !frame.isMirrored
      && source.width == self.format.width && source.height == self.format.height
    if isReady, !isRecolored, !isPrivate { return frame }
    return self.pool.frame(at: frame.timestamp) { buffer in
      let canvas = I420Picture(buffer)
      if !isReady {
        self.draw(frame, into: canvas)
      } else if !isRecolored {
        canvas.convert(frame.buffer)
      }
      // Last, since the canvas is of even size; its black bars are black in every matrix.
      if isRecolored {
        canvas.recolor(isReady ? I420Picture(frame.buffer) : canvas, from: matrix, to: self.format.colorMatrix)
      }
      withExtendedLifetime(frame) {}
    }
  }

  /// Converts, turns, mirrors, places; the last step that is needed writes to the canvas, those before to scratch memory.
  private func draw(_ frame: VideoFrame, into canvas: I420Picture) {
    let turned = frame.orientation.swapsWidthAndHeight
    let (width, height) = (frame.format.width, frame.format.height)
    let (uprightWidth, uprightHeight) = turned ? (height, width) : (width, height)
    let isPlaced = uprightWidth != canvas.width || uprightHeight != canvas.height
    let isTurned = frame.orientation != .up

    var picture = I420Picture(frame.buffer)
    if frame.format.pixelFormat != .i420 {
      let isLast = !isTurned && !frame.isMirrored && !isPlaced
      let target = isLast ? canvas : self.scratch(0, width: width, height: height)
      target.convert(frame.buffer)
      picture = target
    }
    if isTurned {
      let isLast = !frame.isMirrored && !isPlaced
      let target = isLast ? canvas : self.scratch(1, width: uprightWidth, height: uprightHeight)
      target.rotate(picture, by: frame.orientation)
      picture = target
    }
    if frame.isMirrored {
      let target = isPlaced ? self.scratch(2, width: uprightWidth, height: uprightHeight) : canvas
      target.mirror(picture)
      picture = target
    }
    if isPlaced {
      self.place(picture, on: canvas)
    }
    // Scratch memory and the source's are referenced by self and the frame until here.
    withExtendedLifetime(frame) {}
  }

  private func place(_ picture: I420Picture, on canvas: I420Picture) {
    switch self.scaling {
    case .fit:
      let area = Self.fit(width: picture.width, height: picture.height, into: canvas)
      canvas.blackenOutside(area)
      canvas.part(area).scale(picture)
    case .fill:
      canvas.scale(picture.part(Self.fit(width: canvas.width, height: canvas.height, into: picture)))
    }
  }

  /// The largest area of the wanted shape in the middle of a picture, at even coordinates.
  static func fit(width: Int, height: Int, into picture: I420Picture) -> I420Picture.Area {
    var (areaWidth, areaHeight) = (picture.width, picture.height)
    if width * picture.height > picture.width * height {
      areaHeight = max(2, (picture.width * height + width / 2) / width & ~1)
    } else {
      areaWidth = max(2, (picture.height * width + height / 2) / height & ~1)
    }
    areaWidth = min(areaWidth, picture.width)
    areaHeight = min(areaHeight, picture.height)
    return I420Picture.Area(
      x: (picture.width - areaWidth) / 2 & ~1, y: (picture.height - areaHeight) / 2 & ~1, width: areaWidth,
      height: areaHeight)
  }

  /// Memory for a step's result, kept from picture to picture.
  private func scratch(_ index: Int, width: Int, height: Int) -> I420Picture {
    while self.scratch.count <= index {
      self.scratch.append(PixelBuffer(format: VideoFormat(width: width, height: height)))
    }
    if self.scratch[index].format.width != width || self.scratch[index].format.height != height {
      self.scratch[index] = PixelBuffer(format: VideoFormat(width: width, height: height))
    }
    return I420Picture(self.scratch[index])
  }
}
