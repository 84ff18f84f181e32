public import Media
internal import Synchronization

/// Covers each face with an opaque box larger than the face, and keeps the box for a time after the last detection.
/// Covers the whole frame while face positions are unknown: before a ``FaceTracker`` has searched all of it, while the
/// tracker is behind or has failed, and without a tracker earlier in the chain.
///
/// With ``FaceTracker/Detection/everyFrame`` the detector searches each frame before it is output; with
/// ``FaceTracker/Detection/background`` a face that enters the frame may be visible for up to 0.3 s.
///
/// Uncertain detections are covered too, so that boxes also appear where there is no face. Independent detectors found
/// no face in any of 1561 encoded frames (`docs/faces.md`).
///
/// A face that the detector misses is not covered. The detector found 98% of the faces in natural photos; at 1280 ×
/// 720, 96 to 100% of the faces 110 pixels wide, and 52 to 63% of the faces 60 pixels wide.
public final class PrivacyMask: VideoEffect {
  /// True: a frame for which the mask throws is covered as a whole.
  public var isPrivacy: Bool { true }

  private struct Cover {
    var face: Int
    var outline: FaceOutline
    var lastTime: MediaTime
    /// Whether a mesh has confirmed the face.
    var isConfirmed: Bool

    init(_ face: Face, at time: MediaTime) {
      (self.face, self.outline, self.lastTime) = (face.id, FaceOutline(face, .face), time)
      self.isConfirmed = !face.mesh.isEmpty
    }
  }

  private struct State {
    var painter = ShapePainter()
    var covers: [Cover] = []
  }

  /// Maximum time for which a box is kept after the last detection of a face that no mesh has confirmed.
  private static let unconfirmedHold = MediaDuration.milliseconds(500)

  private let color: FrameColor
  private let growth: Float
  private let hold: MediaDuration
  private let state = Mutex(State())

  /// Creates a mask.
  ///
  /// - Parameters:
  ///   - growth: Size of the box relative to the face, at least 1.
  ///   - hold: Time for which a box is kept after the last detection of its face; at most 0.5 s for uncertain faces.
  public init(
    color: FrameColor = FrameColor(luma: 40), growth: Float = 1.4, hold: MediaDuration = .milliseconds(1500)
  ) {
    (self.color, self.growth, self.hold) = (color, max(1, growth), hold)
  }

  /// Drops all boxes: their positions are meaningless in frames of another size or source.
  public func prepare(for format: VideoFormat) {
    self.state.withLock { $0.covers = [] }
  }

  /// Covers the faces; requests a cover of the whole frame while face positions are unknown.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let (time, canvas) = (frame.timestamp, Canvas(frame.buffer))
    let (faces, possible) = (frame.metadata.faces, frame.metadata.possibleFaces)
    self.state.withLock { state in
      func isPresent(_ id: Int) -> Bool { faces.contains { $0.id == id } || possible.contains { $0.id == id } }
      state.covers.removeAll {
        let hold = $0.isConfirmed ? self.hold : min(self.hold, Self.unconfirmedHold)
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
