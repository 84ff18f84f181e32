internal import Media

extension VideoSchedule {
  /// The stream's output until now.
  struct Output {
    /// The highest presentation time.
    private(set) var time: MediaTime?
    /// Time at which the last frame or sample was output.
    private(set) var moment: MediaTime?
    /// Source of the frame; `nil` for the slate.
    private(set) var source: SourceID?
    /// Whether the frame is the slate, or a repeated one: in place of a frame that had not come.
    private(set) var isSubstitute = false
    /// Decode time of the last sample, when that was passed through.
    private(set) var passedDecodeTime: MediaTime?

    mutating func append(
      at now: MediaTime, timestamp: MediaTime, source: SourceID?, isSubstitute: Bool = false,
      passedDecodeTime: MediaTime? = nil
    ) {
      self.time = max(self.time ?? timestamp, timestamp)
      self.moment = now
      self.source = source
      self.isSubstitute = isSubstitute
      self.passedDecodeTime = passedDecodeTime
    }
  }

  /// A frame that is being encoded.
  struct Encoding {
    enum Kind {
      case newest(SourceID)
      case last(SourceID)
      case slate
    }

    var kind: Kind
    var timestamp: MediaTime

    /// Source of the frame; `nil` for the slate.
    var source: SourceID? {
      switch self.kind {
      case .newest(let source), .last(let source): source
      case .slate: nil
      }
    }

    /// See ``Output/isSubstitute``.
    var isSubstitute: Bool {
      switch self.kind {
      case .newest: false
      case .last, .slate: true
      }
    }
  }
}
