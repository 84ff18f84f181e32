import Media
import Serving

/// Packets of one byte.
final class TestPackets: SharedMedia {
  static var emptyCache: Int { 0 }

  let kind: MediaKind
  let isKeyframe: Bool
  var byteCount: Int { 1 }

  init(_ kind: MediaKind, isKeyframe: Bool = false) {
    (self.kind, self.isKeyframe) = (kind, isKeyframe)
  }
}

/// A time in milliseconds.
func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }
