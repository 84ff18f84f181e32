public import Media
public import NIOCore

/// Muxes H.264 and AAC into fragmented MP4, ISO/IEC 14496-12 and -15, structured as CMAF (ISO/IEC 23000-19): an
/// initialization segment, then fragments of one `moof` and one `mdat` with both tracks, video before audio.
///
/// | track | timescale   | times |
/// |-------|-------------|-------|
/// | video | 90,000      | decoding times on the streams' clock, rounded down; a frame lasts until the next one |
/// | audio | sample rate | contiguous frames; resynchronized where the clock differs by more than half a frame |
///
/// Timed metadata precedes the `moof` in `emsg` boxes. Times count from the clock's zero; there are no edit lists.
public struct FragmentedMP4Muxer: Sendable {
  /// Codec configurations; the first of each kind is muxed.
  public private(set) var descriptions: [CodecDescription]
  /// `sequence_number` of the last fragment, starting at 1.
  public private(set) var sequenceNumber: UInt32 = 0
  /// Number of skipped samples: of a kind without description, empty, before the clock's zero, beyond the maximum fragment
  /// length, or audio that overlaps earlier audio.
  public private(set) var skippedSampleCount = 0

  private var tracks: [MP4Track]
  /// `id` of the last event message.
  private var eventCount: UInt32 = 0
  private var videoTimeline = VideoTimeline()
  private var audioTimeline: AudioTimeline?

  /// Maximum bytes of a fragment's samples: 1 GiB, since data offsets have 31 bits.
  static let maximumFragmentLength = 1 << 30

  /// Creates a muxer at the start of a stream.
  public init(_ descriptions: [CodecDescription]) {
    self.descriptions = descriptions
    self.tracks = MP4Track.tracks(of: descriptions)
    self.audioTimeline = AudioTimeline(self.tracks)
  }

  /// Continues with other codecs or parameters: the next fragments need a new
  /// ``initializationSegment(metadata:hasEvents:)``. Times and sequence numbers continue; equal descriptions change nothing.
  public mutating func change(to descriptions: [CodecDescription]) {
    guard descriptions != self.descriptions else { return }
    self.descriptions = descriptions
    self.tracks = MP4Track.tracks(of: descriptions)
    self.audioTimeline = AudioTimeline(self.tracks, after: self.audioTimeline)
  }

  /// Returns `ftyp` and `moov`, which a player reads before the first fragment.
  ///
  /// - Parameters:
  ///   - metadata: Title, encoder and creation time; none by default, as for a live stream.
  ///   - hasEvents: Whether fragments may contain timed metadata.
  public func initializationSegment(
    metadata: MovieMetadata = MovieMetadata(), hasEvents: Bool = false
  ) -> ByteBuffer {
    InitializationSegment(tracks: self.tracks, metadata: metadata, hasEvents: hasEvents).serialize()
  }

  /// Whether a player can start with a fragment of these samples: the first video sample is a keyframe, or there is only
  /// audio.
  public static func isIndependent(_ samples: [EncodedSample]) -> Bool {
    samples.first { $0.kind == .video }?.isKeyframe ?? !samples.isEmpty
  }

  /// Returns a fragment; empty when no sample is usable.
  ///
  /// - Parameters:
  ///   - samples: Samples in decoding order per kind; the kinds may be interleaved in any order.
  ///   - events: Timed metadata of the fragment.
  ///   - nextVideoDecodeTime: Decoding time of the first video sample of the next fragment, which ends the last video
  ///     sample. By default the sample's own duration counts, which suits the end of a stream and constant frame rates.
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
