internal import Media

extension VideoSchedule {
  enum Event {
    /// An uncompressed frame of the source.
    case frame(FrameSummary)
    /// An access unit of a source that compresses its video.
    case sample(SampleSummary)
    case sourceEnded
    /// A new viewer, a lost frame or a new segment needs a keyframe.
    case keyframeRequested
    /// A viewer of another encoding of these frames needs one, a keyframe of that: the stream needs none.
    case frameRequested
    /// A viewer of another encoding needs a frame, and decoding cannot begin before the next keyframe of the source.
    case groupRequested
    /// The last frame is outdated: effects, rotation or mirroring have changed.
    case redrawRequested
  }

  enum Action: Equatable {
    /// Keep the frame of the event as the last frame, with this timestamp, and encode it.
    case encodeNewest(timestamp: MediaTime, forcesKeyframe: Bool)
    /// Encode the last frame again with this timestamp.
    case encodeLastAgain(timestamp: MediaTime, forcesKeyframe: Bool)
    case encodeSlate(timestamp: MediaTime, forcesKeyframe: Bool)
    /// Keep a copy of the frame of the event as the last frame, with this timestamp, without encoding it.
    case keepNewest(timestamp: MediaTime)
    /// Drop the frame of the event: it is not newer than the last output.
    case dropNewest
    /// Forget the last frame and output the access unit of the event with these times. While there are snapshots the access unit is
    /// also decoded; otherwise the decoder is closed.
    case passThrough(decodeTime: MediaTime, presentationTime: MediaTime)
    /// Decode the group of pictures since the last keyframe, and handle each complete frame as ``Event/frame(_:)``.
    ///
    /// - Parameter dropsFrames: The encoder is too slow: the frames are only decoded, since others refer to them.
    case transcode(dropsFrames: Bool)
    /// Decode the access units passed through until now, keep the last frame of them, and call ``keepStill(at:)``: the source sends
    /// nothing new for which a new viewer could wait. Without such a frame the source is still passed through.
    case keepStill
    /// Encode the last frame of the access units that were passed through again for viewers of other encodings, with this
    /// timestamp. Where no other encoding has viewers, or no frame can be decoded, call ``endDecodedRepetition(at:)``.
    case repeatDecoded(timestamp: MediaTime)
    /// Close the decoder: its frames are not needed for now.
    case closeDecoder
    /// The source has ended before its first frame: the stream fails.
    case fail
    case none
  }

  /// A change that the pipeline performs before the action.
  enum Notice: Equatable {
    /// The source of this event replaces the previous one.
    case sourceSwitched
    /// The source has delivered no frame for ``Configuration/slateDelay``.
    case sourceSilent
    case slateShown
    case slateHidden
    /// Copy the last frame, so that the source can reuse its buffer.
    case releaseSourceMemory
    /// Request a keyframe from the source that is passed through.
    case requestKeyframeFromSource
  }

  /// Result of an action that encodes.
  enum EncodingResult {
    case frame
    case keyframe
    /// An effect dropped the frame, or no memory was available for it.
    case dropped
    /// A privacy effect holds the frame back; it is encoded with one of the next frames.
    case heldBack
  }

  struct Configuration {
    /// Format of the output; its frame rate is the rate of repeated frames and slates.
    var format: VideoFormat
    /// Conditions under which access units are passed through.
    var passThrough: PassThroughRule
    /// Time without a frame after which the slate is shown, of sources that do not report their loss and have no slower rhythm.
    var slateDelay: MediaDuration
    /// Delay of the slate after the end of the source: an owner that stops the stream ends it with its last frame.
    var slateDelayAfterEnd: MediaDuration
    /// Time between two encodings of the last frame while encoding is paused: players take a connection without data for
    /// a broken one.
    var pausedInterval: MediaDuration
    /// Maximum time between two keyframes.
    var maximumKeyframeInterval: MediaDuration
  }
}

extension VideoSchedule {
  /// Identity of a source, see ``VideoFeed/id``.
  struct SourceID: Hashable, Sendable {
    let number: Int
  }

  /// The source that may be passed through under ``PassThroughRule/isLimitedToFirstSource``.
  enum PassThroughSource: Hashable {
    /// Before the first frame or access unit.
    case undecided
    case source(SourceID)
    case none
  }
}
