internal import Codecs
internal import Media

/// A frame of a private stream that may be shown: one that was searched completely and whose candidates are all covered, or one that is
/// covered whole.
///
/// Each initializer covers what it vouches for, so that there is none without a cover.
struct CoveredFrame {
  /// The frame with its covers.
  let frame: EffectFrame
  /// Whether all of it is covered.
  let isWhole: Bool
  /// Evidence with which the chain releases the frame.
  let mark: PrivacyMark

  /// Covers what a search has found, or the whole frame where it says so.
  ///
  /// - Parameter result: Only ``PrivacySearch`` makes one, of a frame whose round is over.
  init(_ result: PrivacySearch.Result, color: FrameColor) {
    if let boxes = result.boxes {
      let canvas = Canvas(result.frame.buffer)
      for box in boxes {
        if let area = canvas.area(from: box.low, to: box.high) { canvas.fill(area, color) }
      }
    } else {
      result.frame.buffer.cover()
    }
    (self.frame, self.isWhole, self.mark) = (result.frame, result.boxes == nil, PrivacyMark())
  }

  /// Covers a whole frame.
  init(whole frame: EffectFrame) {
    frame.buffer.cover()
    (self.frame, self.isWhole, self.mark) = (frame, true, PrivacyMark())
  }

  /// The verdict of the effect that covers the frame.
  var verdict: EffectVerdict { self.isWhole ? .cover : .keep }
}

/// Evidence that a privacy effect has seen a frame; see ``ReleasedFrame``.
struct PrivacyMark: ReleaseMark {
  /// Files other than this one get a mark from a ``CoveredFrame``, or from an effect.
  fileprivate init() {}

  /// The mark of a frame that an effect has processed; nil where it is no privacy effect. A custom one searches by itself, and
  /// the chain covers the whole frame where it throws.
  init?(processedBy effect: any VideoEffect) {
    guard effect.isPrivacy else { return nil }
  }
}

/// State of a frame on its way through a chain: whether a privacy effect has seen it.
enum Clearance {
  /// The chain has no privacy effect.
  case notPrivate
  /// A privacy effect of the chain has not seen the frame yet.
  case awaited
  /// A privacy effect has seen it.
  case marked(PrivacyMark)

  /// Releases a frame; covered whole where no privacy effect has seen it.
  func release(_ frame: VideoFrame) -> ReleasedFrame {
    switch self {
    case .notPrivate: return ReleasedFrame(notPrivate: frame)
    case .marked(let mark): return ReleasedFrame(frame, mark: mark)
    case .awaited:
      let format = frame.format
      let buffer = PixelBuffer(
        format: VideoFormat(
          width: format.width, height: format.height, frameRate: format.frameRate, colorMatrix: format.colorMatrix))
      let covered = CoveredFrame(whole: EffectFrame(buffer: buffer, timestamp: frame.timestamp, budget: .zero))
      return ReleasedFrame(
        VideoFrame(buffer: buffer, timestamp: frame.timestamp, captureLatency: frame.captureLatency), mark: covered.mark
      )
    }
  }
}
