internal import Containers
internal import Media
internal import NIOCore

/// Samples of a part that are written at once; times are relative to the part's start.
struct PartFragment: Sendable {
  var samples: [EncodedSample]
  /// Time of the video frame after the last one, if known.
  var nextVideoTime: MediaTime?
  /// Ranges of the payloads in the file of a part, one for each sample, whose own payload is empty then; nil where the samples
  /// have their payloads.
  private(set) var places: [Range<UInt64>]?

  /// Creates a fragment of samples with their payloads.
  init(samples: [EncodedSample], nextVideoTime: MediaTime? = nil) {
    (self.samples, self.nextVideoTime) = (samples, nextVideoTime)
  }

  /// Index of the last keyframe of a kind that is not the first of its kind; nil without one.
  fileprivate func laterKeyframe(_ kind: MediaKind) -> Int? {
    let first = self.samples.firstIndex { $0.kind == kind }
    return self.samples.lastIndex { $0.kind == kind && $0.isKeyframe }.flatMap { $0 == first ? nil : $0 }
  }

  fileprivate func startsWithKeyframe(_ kind: MediaKind) -> Bool {
    self.samples.first { $0.kind == kind }?.isKeyframe ?? false
  }

  fileprivate func has(keyframeOf kind: MediaKind) -> Bool {
    self.samples.contains { $0.kind == kind && $0.isKeyframe }
  }

  /// Bytes of the payloads.
  var byteCount: Int {
    self.places?.reduce(0) { $0 + $1.count } ?? self.samples.reduce(0) { $0 + $1.payload.readableBytes }
  }

  /// The fragment without its payloads, which a file has one after the other: those of video, then those of audio.
  fileprivate func stored(at offset: UInt64) -> PartFragment {
    var fragment = self
    fragment.samples = self.samples.filter { $0.kind == .video } + self.samples.filter { $0.kind == .audio }
    var places: [Range<UInt64>] = []
    places.reserveCapacity(fragment.samples.count)
    var start = offset
    for index in fragment.samples.indices {
      let end = start + UInt64(fragment.samples[index].payload.readableBytes)
      places.append(start..<end)
      start = end
      fragment.samples[index].payload = ByteBuffer()
    }
    fragment.places = places
    return fragment
  }

  /// The fragment with its payloads.
  ///
  /// - Parameter read: Returns the bytes of a range of the file; called once for all payloads.
  func loaded(
    from read: (Range<UInt64>) throws(VidiconError) -> ByteBuffer
  ) throws(VidiconError) -> PartFragment {
    guard let places, let start = places.lazy.map(\.lowerBound).min(), let end = places.lazy.map(\.upperBound).max()
    else { return self }
    let bytes = try read(start..<end)
    var fragment = PartFragment(samples: self.samples, nextVideoTime: self.nextVideoTime)
    for (index, place) in zip(fragment.samples.indices, places) {
      fragment.samples[index].payload =
        bytes.getSlice(at: bytes.readerIndex + Int(place.lowerBound - start), length: place.count) ?? ByteBuffer()
    }
    return fragment
  }

  /// The samples that fulfill a condition.
  fileprivate func filter(_ isIncluded: (EncodedSample) -> Bool) -> PartFragment {
    let indices = self.samples.indices.filter { isIncluded(self.samples[$0]) }
    var fragment = self
    fragment.samples = indices.map { self.samples[$0] }
    fragment.places = self.places.map { places in indices.map { places[$0] } }
    return fragment
  }
}

/// The end of a part from the fragment with its last keyframe on, so that another file can continue at that keyframe when a
/// fragment does not fit into this one. Pure: files are not known here.
///
/// ```
/// written   K p p p | p p K p | p p p p      the next fragment, p p p p, does not fit
/// file 1    K p p p | p p
/// file 2                  K p | p p p p | p p p p | …
/// ```
///
/// Nothing is lost and nothing is in both files. The tail has times and places of its samples; their payloads are in the file
/// that is full, from which they are read back. A tail that is too long to be moved while the recording waits is forgotten, as is
/// one whose keyframe is the first of its part: then the other file waits for the next keyframe.
struct PartTail {
  /// Times of a cut, relative to the start of the part that ends there.
  struct Cut: Equatable {
    /// Decoding time of the first sample of the next file.
    var time: MediaTime
    /// Time that becomes the start of the audio of the next file, within half an audio frame of ``time``.
    var audioStart: MediaTime

    /// Duration of the part that ends at the cut.
    var duration: MediaDuration { self.time - .zero }
  }

  /// A division of the tail.
  struct Division {
    var cut: Cut
    /// Number of written fragments that the next file contains instead; none or all of the tail.
    var replacedCount: Int
    /// Samples of the first of them that stay; empty for none.
    var kept: PartFragment
    /// Fragments of the next file, first those that replace written ones; times are relative to its start.
    var moved: [PartFragment]
  }

  /// Maximum number of bytes of payloads, which are read and written again while the recording waits: 21 s at 25 Mb/s, and some seconds of
  /// waiting on a slow card.
  static let maximumByteCount = 64 << 20
  /// Maximum number of samples, of 80 bytes each in memory: 12 minutes of video and audio.
  static let maximumSampleCount = 1 << 16

  /// Written fragments from the one with the last keyframe on, without their payloads.
  private(set) var fragments: [PartFragment] = []
  private var byteCount = 0
  private var sampleCount = 0
  private let maximumByteCount: Int
  /// The kind of samples whose keyframes begin a file.
  private let kind: MediaKind
  private let audio: AudioPlacement?

  /// Creates the tail of a part without fragments.
  init(_ descriptions: [CodecDescription], maximumByteCount: Int = Self.maximumByteCount) {
    self.maximumByteCount = maximumByteCount
    self.kind = descriptions.contains { $0.kind == .video } ? .video : .audio
    self.audio =
      descriptions.lazy.compactMap { description in
        if case .aac(let audio) = description { AudioPlacement(audio) } else { nil }
      }.first
  }

  /// Adds a fragment that was written.
  ///
  /// - Parameter dataOffset: Offset of its first payload in the file; nil where the file does not have all of its samples, so that
  ///   the tail is forgotten.
  /// - Returns: Number of fragments that were forgotten, this one included.
  @discardableResult
  mutating func append(_ fragment: PartFragment, dataOffset: UInt64?) -> Int {
    let count = self.fragments.count
    if fragment.has(keyframeOf: self.kind) { self.removeAll() }
    if let dataOffset, !self.fragments.isEmpty || fragment.has(keyframeOf: self.kind) {
      self.fragments.append(fragment.stored(at: dataOffset))
      self.byteCount += fragment.byteCount
      self.sampleCount += fragment.samples.count
      if self.byteCount > self.maximumByteCount || self.sampleCount > Self.maximumSampleCount { self.removeAll() }
    } else {
      self.removeAll()
    }
    return count + 1 - self.fragments.count
  }

  private mutating func removeAll() {
    (self.fragments, self.byteCount, self.sampleCount) = ([], 0, 0)
  }

  /// Divides the part for a fragment that does not fit into its file.
  ///
  /// - Parameters:
  ///   - fragment: The fragment that does not fit.
  ///   - following: Fragments of the same part after it.
  /// - Returns: Nil where no keyframe is known at which the next file can begin.
  func division(before fragment: PartFragment, _ following: [PartFragment]) -> Division? {
    let rest = [fragment] + following
    if fragment.startsWithKeyframe(self.kind) {
      return self.division(
        at: fragment.samples.first { $0.kind == self.kind }, of: rest, replacedCount: 0, split: nil)
    }
    guard let first = self.fragments.first else { return nil }
    if let index = first.laterKeyframe(self.kind) {
      return self.division(
        at: first.samples[index], of: Array(self.fragments.dropFirst()) + rest,
        replacedCount: self.fragments.count, split: first)
    }
    guard first.startsWithKeyframe(self.kind) else { return nil }
    return self.division(
      at: first.samples.first { $0.kind == self.kind }, of: self.fragments + rest,
      replacedCount: self.fragments.count, split: nil)
  }

  /// - Parameters:
  ///   - sample: The keyframe.
  ///   - whole: Fragments that move as a whole.
  ///   - split: The fragment that contains the keyframe, unless that begins one of `whole`.
  private func division(
    at sample: EncodedSample?, of whole: [PartFragment], replacedCount: Int, split: PartFragment?
  ) -> Division? {
    // The file that ends must not be empty.
    guard let time = sample?.decodeTime, time > .zero else { return nil }
    var kept = PartFragment(samples: [], nextVideoTime: time)
    var moved = whole
    if let split {
      let audioEnd = time - (self.audio?.halfFrame ?? .zero)
      func stays(_ sample: EncodedSample) -> Bool { sample.decodeTime < (sample.kind == .audio ? audioEnd : time) }
      kept = split.filter(stays)
      kept.nextVideoTime = time
      moved.insert(split.filter { !stays($0) }, at: 0)
    }
    let first = moved.lazy.flatMap(\.samples).first { $0.kind == .audio }
    let cut = Cut(time: time, audioStart: self.audio?.start(of: first?.decodeTime, at: time) ?? time)
    return Division(
      cut: cut, replacedCount: replacedCount, kept: kept, moved: moved.map { $0.moved(by: cut) })
  }
}

extension PartFragment {
  /// Times relative to the start of the next file.
  fileprivate func moved(by cut: PartTail.Cut) -> PartFragment {
    var fragment = self
    fragment.nextVideoTime = self.nextVideoTime.map { $0 - cut.duration }
    for index in fragment.samples.indices {
      let distance = fragment.samples[index].kind == .audio ? cut.audioStart - .zero : cut.duration
      fragment.samples[index].presentationTime = fragment.samples[index].presentationTime - distance
      fragment.samples[index].decodeTime = fragment.samples[index].decodeTime - distance
    }
    return fragment
  }
}
