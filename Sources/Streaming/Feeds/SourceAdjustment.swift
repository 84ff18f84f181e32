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

/// Adjustments of replaced sources, restored when a source returns: by capturer while that object exists, and by name.
struct PastAdjustments: Sendable {
  private struct Entry: Sendable {
    weak var capturer: (any AnyObject & Sendable)?
    let name: String?
    var adjustment: SourceAdjustment
  }

  /// Maximum number of entries; the oldest is removed first.
  static let maximumCount = 64

  private var entries: [Entry] = []

  /// Number of capturers and names that have an adjustment.
  var count: Int {
    self.entries.count { $0.capturer != nil || $0.name != nil }
  }

  mutating func keep(_ adjustment: SourceAdjustment, of capturer: any AnyObject & Sendable, named name: String? = nil) {
    self.entries.removeAll { entry in
      entry.capturer === capturer || (entry.name == name && name != nil) || (entry.capturer == nil && entry.name == nil)
    }
    if self.entries.count >= Self.maximumCount { self.entries.removeFirst() }
    self.entries.append(Entry(capturer: capturer, name: name, adjustment: adjustment))
  }

  /// The adjustment of a capturer, else the one of its name, else none.
  func adjustment(of capturer: any AnyObject & Sendable, named name: String? = nil) -> SourceAdjustment {
    let entry =
      self.entries.first { $0.capturer === capturer } ?? name.flatMap { name in self.entries.first { $0.name == name } }
    return entry?.adjustment ?? SourceAdjustment()
  }
}

extension Orientation {
  /// The rotation followed by another one.
  func turned(by other: Orientation) -> Orientation {
    // No trap: the sum of two multiples of 90° is one.
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
