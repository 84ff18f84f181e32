public import Media
internal import Synchronization

/// Covers faces with opaque boxes that are larger than they, and keeps each for a while after the face was last seen. While
/// it is not known where faces are, the whole frame is covered: before the tracker has looked at all of it, while the
/// tracker is behind or has failed, and where there is none before this in the chain.
///
/// With a tracker whose detection is ``FaceTracker/Detection/everyFrame`` no frame goes on that the detector has not seen;
/// with ``FaceTracker/Detection/background`` a face that comes into the frame may be seen for up to 0.3 s.
///
/// Covered is also what only may be a face, so that boxes come and go where there is none. After it, detectors of others saw
/// no face in any of 1561 encoded frames (`docs/faces.md`).
///
/// What it cannot promise: that the detector finds each face. Measured, it found 98% of the faces in natural photos; in
/// frames of 1280 × 720, 96 to 100% of those 110 pixels wide, and 52 to 63% of those 60 pixels wide.
public final class PrivacyMask: VideoEffect {
  /// Where it fails, the frame is covered.
  public var isPrivacy: Bool { true }

  private struct Cover {
    var face: Int
    var outline: FaceOutline
    var lastTime: MediaTime
    /// Whether a mesh has said that it is a face.
    var isSure: Bool

    init(_ face: Face, at time: MediaTime) {
      (self.face, self.outline, self.lastTime) = (face.id, FaceOutline(face, .face), time)
      self.isSure = !face.mesh.isEmpty
    }
  }

  private struct State {
    var painter = ShapePainter()
    var covers: [Cover] = []
  }

  /// How long a box stays where no mesh has said that there is a face.
  private static let doubtfulHold = MediaDuration.milliseconds(500)

  private let color: FrameColor
  private let growth: Float
  private let hold: MediaDuration
  private let state = Mutex(State())

  /// A mask.
  ///
  /// - Parameters:
  ///   - growth: How many times larger than a face its box is, at least 1.
  ///   - hold: How long a box stays after its face was last seen; half a second at most over what may be none.
  public init(
    color: FrameColor = FrameColor(luma: 40), growth: Float = 1.4, hold: MediaDuration = .milliseconds(1500)
  ) {
    (self.color, self.growth, self.hold) = (color, max(1, growth), hold)
  }

  /// Boxes belong to places in frames of one size.
  public func prepare(for format: VideoFormat) {
    self.state.withLock { $0.covers = [] }
  }

  /// Covers the faces, or the frame.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let (time, canvas) = (frame.timestamp, Canvas(frame.buffer))
    let (faces, possible) = (frame.metadata.faces, frame.metadata.possibleFaces)
    self.state.withLock { state in
      func isPresent(_ id: Int) -> Bool { faces.contains { $0.id == id } || possible.contains { $0.id == id } }
      state.covers.removeAll {
        let hold = $0.isSure ? self.hold : min(self.hold, Self.doubtfulHold)
        return isPresent($0.face) || time - $0.lastTime > hold || time < $0.lastTime
      }
      for face in faces { state.covers.append(Cover(face, at: time)) }
      for face in possible { state.covers.append(Cover(face, at: time)) }
      for cover in state.covers {
        var shape = cover.outline.shape(.box)
        // Grows by half its size in the first second without a detection: the face may have moved.
        let size = self.growth + min(1, Float((time - cover.lastTime).seconds)) / 2
        (shape.right, shape.down, shape.feather) = (shape.right * size, shape.down * size, 1)
        state.painter.paint(shape, .solid(self.color), on: canvas)
      }
    }
    return frame.metadata.faceTracking == .current ? .keep : .cover
  }
}
