public import Media
public import NIOCore

/// Writes H.264 and AAC as fragmented MP4, ISO/IEC 14496-12 and -15 in the shape of CMAF (ISO/IEC 23000-19): an
/// initialization segment, then fragments of one `moof` and one `mdat` that hold both tracks, sound behind pictures.
///
/// | track | timescale   | times |
/// |-------|-------------|-------|
/// | video | 90 000      | decoding times of the one clock, rounded down; a picture lasts until the next one |
/// | audio | sample rate | frames to the sample; the clock's time where the two differ by more than half a frame |
///
/// Timed metadata stands before the `moof`, each in an `emsg` box.
///
/// Times count from the clock's zero. There are no edit lists: sound before the first picture stands where it belongs.
public struct FragmentedMP4Muxer: Sendable {
  /// What is muxed: one track of each kind, the first where there are several.
  public private(set) var descriptions: [CodecDescription]
  /// The number of the last fragment: 1 for the first.
  public private(set) var sequenceNumber: UInt32 = 0
  /// Samples that were left out: of a kind that is not described, empty, earlier than the clock's zero, or sound that
  /// overlaps what was written.
  public private(set) var skippedSampleCount = 0

  private var tracks: [MP4Track]
  /// The number of the last message.
  private var eventCount: UInt32 = 0
  private var videoTimeline = VideoTimeline()
  private var audioTimeline: AudioTimeline?

  /// The most that a fragment's samples take; data offsets have 31 bits.
  static let maximumFragmentLength = 1 << 30

  /// A muxer at the start of a stream.
  public init(_ descriptions: [CodecDescription]) {
    self.descriptions = descriptions
    self.tracks = MP4Track.tracks(of: descriptions)
    self.audioTimeline = AudioTimeline(self.tracks)
  }

  /// Goes on with other codecs or parameters: the next fragments belong to a new ``initializationSegment()``. Times and
  /// sequence numbers go on; equal descriptions change nothing.
  public mutating func change(to descriptions: [CodecDescription]) {
    guard descriptions != self.descriptions else { return }
    self.descriptions = descriptions
    self.tracks = MP4Track.tracks(of: descriptions)
    self.audioTimeline = AudioTimeline(self.tracks, after: self.audioTimeline)
  }

  /// `ftyp` and `moov`, which a player reads before the first fragment.
  ///
  /// - Parameters:
  ///   - metadata: What is told of the movie; by default nothing, as for a live stream.
  ///   - hasEvents: Whether fragments may have timed metadata.
  public func initializationSegment(
    metadata: MovieMetadata = MovieMetadata(), hasEvents: Bool = false
  ) -> ByteBuffer {
    InitializationSegment(tracks: self.tracks, metadata: metadata, hasEvents: hasEvents).serialize()
  }

  /// Whether a player can start with a fragment of these samples: their first picture is a keyframe, or there is only
  /// sound.
  public static func isIndependent(_ samples: [EncodedSample]) -> Bool {
    samples.first { $0.kind == .video }?.isKeyframe ?? !samples.isEmpty
  }

  /// A fragment of samples; empty without any.
  ///
  /// - Parameters:
  ///   - samples: Each kind in decoding order, the two in any order among each other.
  ///   - events: What is told of moments of the fragment.
  ///   - nextVideoDecodeTime: The decoding time of the picture that the next fragment begins with, where it is known:
  ///     then the last picture lasts until there. Otherwise it lasts as long as it says, which is right for the last
  ///     fragment of a stream and for sources with an even rate.
  public mutating func fragment(
    _ samples: [EncodedSample], events: [TimedMetadata] = [], nextVideoDecodeTime: MediaTime? = nil
  ) -> ByteBuffer {
    var length = 0
    var runs: [MovieFragment.Run] = []
    for track in self.tracks {
      var kept = samples.filter {
        $0.kind == track.description.kind && $0.payload.readableBytes > 0 && $0.decodeTime >= .zero
      }
      kept.removeAll {
        length += $0.payload.readableBytes
        return length > Self.maximumFragmentLength
      }
      let run =
        switch track.description.kind {
        case .video: self.videoRun(kept, trackID: track.trackID, next: nextVideoDecodeTime)
        case .audio: self.audioRun(kept, trackID: track.trackID)
        }
      if let run {
        runs.append(MovieFragment.Run(table: run.table, defaults: track.defaults, payloads: run.payloads))
      }
    }
    self.skippedSampleCount += samples.count - runs.reduce(0) { $0 + $1.payloads.count }
    guard !runs.isEmpty else { return ByteBuffer() }
    self.sequenceNumber &+= 1
    return MovieFragment.serialize(
      sequenceNumber: self.sequenceNumber, runs: runs, after: self.messages(events))
  }

  private mutating func messages(_ events: [TimedMetadata]) -> ByteBuffer {
    var boxes = ByteBuffer()
    for metadata in events {
      self.eventCount &+= 1
      EventMessage(metadata: metadata, id: self.eventCount).serialize(into: &boxes)
    }
    return boxes
  }

  private mutating func videoRun(
    _ samples: [EncodedSample], trackID: UInt32, next: MediaTime?
  ) -> (table: TrackFragment, payloads: [ByteBuffer])? {
    guard !samples.isEmpty else { return nil }
    let (baseDecodeTime, durations) = self.videoTimeline.place(samples, next: next)
    let entries = zip(samples, durations).map { sample, duration in
      let offset = sample.presentationTime.ticks(timescale: VideoTimeline.timescale)
        .subtractingReportingOverflow(sample.decodeTime.ticks(timescale: VideoTimeline.timescale)).partialValue
      return TrackFragment.Sample(
        duration: duration, size: UInt32(clamping: sample.payload.readableBytes),
        flags: sample.isKeyframe ? .sync : .nonSync, compositionOffset: Int32(clamping: offset))
    }
    return (
      TrackFragment(trackID: trackID, baseDecodeTime: baseDecodeTime, samples: entries), samples.map(\.payload)
    )
  }

  private mutating func audioRun(
    _ samples: [EncodedSample], trackID: UInt32
  ) -> (table: TrackFragment, payloads: [ByteBuffer])? {
    guard var timeline = self.audioTimeline else { return nil }
    var times: [Int64] = []
    var payloads: [ByteBuffer] = []
    for sample in samples {
      guard let time = timeline.place(sample) else { continue }
      times.append(time)
      payloads.append(sample.payload)
    }
    self.audioTimeline = timeline
    guard let first = times.first, let end = timeline.end else { return nil }
    let entries = zip(zip(times, times.dropFirst() + [end]), payloads).map { times, payload in
      TrackFragment.Sample(
        duration: UInt32(clamping: times.1 - times.0), size: UInt32(clamping: payload.readableBytes), flags: .sync)
    }
    return (
      TrackFragment(trackID: trackID, baseDecodeTime: UInt64(clamping: first), samples: entries), payloads
    )
  }
}
