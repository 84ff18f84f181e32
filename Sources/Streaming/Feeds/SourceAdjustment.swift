internal import Media

/// Rotation and mirroring of one source, set by the owner of the stream.
struct SourceAdjustment: Hashable, Sendable {
  /// Clockwise, added to the orientation of each frame.
  var rotation = Orientation.up
  /// Whether frames are mirrored, after the rotation.
  var isMirrored = false
  /// Whether previews are mirrored; nil for the default of the camera position.
  var isPreviewMirrored: Bool?

  /// The frame with this adjustment added to its own orientation and mirroring.
  func applied(to frame: VideoFrame) -> VideoFrame {
    var frame = frame
    // Frames are rotated first and then mirrored: rotating a mirrored frame means rotating the other way before.
    let turn = frame.isMirrored ? self.rotation.reversed : self.rotation
    frame.orientation = frame.orientation.turned(by: turn)
    frame.isMirrored = frame.isMirrored != self.isMirrored
    return frame
  }
}

/// Adjustments of replaced sources, restored when they return; kept while the capturers live.
struct PastAdjustments: Sendable {
  private struct Entry: Sendable {
    weak var capturer: (any AnyObject & Sendable)?
    var adjustment: SourceAdjustment
  }

  private var entries: [Entry] = []

  /// Number of remembered capturers.
  var count: Int {
    self.entries.count { $0.capturer != nil }
  }

  mutating func keep(_ adjustment: SourceAdjustment, of capturer: any AnyObject & Sendable) {
    self.entries.removeAll { $0.capturer == nil || $0.capturer === capturer }
    self.entries.append(Entry(capturer: capturer, adjustment: adjustment))
  }

  func adjustment(of capturer: any AnyObject & Sendable) -> SourceAdjustment {
    self.entries.first { $0.capturer === capturer }?.adjustment ?? SourceAdjustment()
  }
}

extension Orientation {
  /// This rotation followed by another one.
  func turned(by other: Orientation) -> Orientation {
    // Both are multiples of a quarter, and so is the sum.
    Orientation(rawValue: (self.rawValue + other.rawValue) % 360)!
  }

  /// The inverse rotation.
  var reversed: Orientation {
    switch self {
    case .up, .down: self
    case .left: .right
    case .right: .left
    }
  }
}
