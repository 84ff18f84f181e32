internal import Containers
internal import Media
internal import NIOCore

/// Samples of a part that are written at once; times are relative to the part's start.
struct PartFragment: Sendable {
  var samples: [EncodedSample]
  /// Time of the video frame after the last one, if known.
  var nextVideoTime: MediaTime?

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
  fileprivate var byteCount: Int { self.samples.reduce(0) { $0 + $1.payload.readableBytes } }
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
/// Nothing is lost and nothing is in both files. The payloads are shared with what was written, not copied; a tail that is too
/// long is forgotten, as is one whose keyframe is the first of its part: then the other file waits for the next keyframe.
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

  /// Maximum number of bytes of payloads: 16 s at 8 Mb/s.
  static let maximumByteCount = 16 << 20

  /// Written fragments from the one with the last keyframe on.
  private(set) var fragments: [PartFragment] = []
  private var byteCount = 0
  /// The kind of samples whose keyframes begin a file.
  private let kind: MediaKind
  private let audio: AudioPlacement?

  /// Creates the tail of a part without fragments.
  init(_ descriptions: [CodecDescription]) {
    self.kind = descriptions.contains { $0.kind == .video } ? .video : .audio
    self.audio =
      descriptions.lazy.compactMap { description in
        if case .aac(let audio) = description { AudioPlacement(audio) } else { nil }
      }.first
  }

  /// Adds a fragment that was written.
  ///
  /// - Returns: Number of earlier fragments that were forgotten.
  @discardableResult
  mutating func append(_ fragment: PartFragment) -> Int {
    let count = self.fragments.count
    if fragment.has(keyframeOf: self.kind) { (self.fragments, self.byteCount) = ([], 0) }
    self.fragments.append(fragment)
    self.byteCount += fragment.byteCount
    if self.byteCount > Self.maximumByteCount { (self.fragments, self.byteCount) = ([], 0) }
    return count + 1 - self.fragments.count
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
      kept.samples = split.samples.filter(stays)
      moved.insert(
        PartFragment(samples: split.samples.filter { !stays($0) }, nextVideoTime: split.nextVideoTime), at: 0)
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
