internal import Media

/// What the owner of a stream does to the pictures of one source.
struct SourceAdjustment: Hashable, Sendable {
  /// Clockwise, on top of what each frame says about itself.
  var rotation = Orientation.up
  /// Whether left and right are exchanged, after the rotation.
  var isMirrored = false
  /// Whether previews are mirrored; nil for what the camera's position asks for.
  var isPreviewMirrored: Bool?

  /// The frame with this done to it too.
  func applied(to frame: VideoFrame) -> VideoFrame {
    var frame = frame
    // Frames are turned first and then mirrored. To turn what is mirrored already is to turn it the other way before.
    let turn = frame.isMirrored ? self.rotation.reversed : self.rotation
    frame.orientation = frame.orientation.turned(by: turn)
    frame.isMirrored = frame.isMirrored != self.isMirrored
    return frame
  }
}

/// The adjustments of sources that were replaced, for when they come back; kept as long as the capturers live.
struct PastAdjustments: Sendable {
  private struct Entry: Sendable {
    weak var capturer: (any AnyObject & Sendable)?
    var adjustment: SourceAdjustment
  }

  private var entries: [Entry] = []

  /// The capturers that are remembered.
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
  /// This rotation and then another one, as one.
  func turned(by other: Orientation) -> Orientation {
    // Both are multiples of a quarter, and so is the sum.
    Orientation(rawValue: (self.rawValue + other.rawValue) % 360)!
  }

  /// The rotation that undoes this one.
  var reversed: Orientation {
    switch self {
    case .up, .down: self
    case .left: .right
    case .right: .left
    }
  }
}
