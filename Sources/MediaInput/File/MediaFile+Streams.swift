internal import CLibav
internal import Media

/// Streams that begin amid the file and replace others.
extension MediaFile {
  /// Time of a stream within which every other one that is beside it has a packet, in nanoseconds.
  private static let span: Int64 = 2_000_000_000

  /// The stream of a kind that is read; nil where there is none.
  func selectedStream(of kind: MediaKind) -> Int? {
    kind == .video ? self.videoStream : self.audioStream
  }

  /// Whether a stream is of a kind that is played, and may begin where another one ends.
  func mayReplaceStream(_ index: Int) -> Bool {
    self.mayChangeStreams && self.kind(of: index).flatMap { self.selectedStream(of: $0) } != nil
  }

  /// Whether a packet that was read belongs to a stream that replaces the one of its kind. A stream that is beside that one is not read any
  /// more. Reads ahead.
  ///
  /// - Returns: The kind; nil for other packets.
  func replacedKind(by packet: UnsafeMutablePointer<AVPacket>) -> MediaKind? {
    let index = Int(packet.pointee.stream_index)
    guard self.mayChangeStreams, let kind = self.kind(of: index) else { return nil }
    guard let current = self.selectedStream(of: kind) else {
      self.setActive(false, stream: index)
      return nil
    }
    let (listed, ahead) = (self.listedAtPacket, self.streamsAhead(of: packet.pointee))
    func place(_ index: Int) -> StreamSuccession.Stream {
      StreamSuccession.Stream(
        isListed: listed.contains(index),
        // Of a stream that is not read, nothing comes.
        goesOn: ahead[index, default: 0] > 1 || self.stream(index).pointee.discard == AVDISCARD_ALL,
        hasEnded: self.endedStreams.contains(index))
    }
    let hasPrograms = !listed.isEmpty
    switch StreamSuccession.verdict(of: place(index), besides: place(current), hasPrograms: hasPrograms) {
    case .replaces: break
    case .isBeside:
      self.setActive(false, stream: index)
      return nil
    case .isLeftover: return nil
    }
    // Of several that begin, the one that a player would choose.
    let others = ahead.keys.filter { $0 != current && (!hasPrograms || listed.contains($0)) }
    let choice = StreamChoice(self.context, among: Set(others).union([index]))
    return (kind == .video ? choice.video : choice.audio).first == index ? kind : nil
  }

  /// Reads packets of all streams of a kind again where the program map leaves out the one that is read: one that was beside it may
  /// go on alone.
  func admitReplacements(of kind: MediaKind) {
    guard self.mayChangeStreams, !self.listedAtPacket.isEmpty, let current = self.selectedStream(of: kind),
      !self.listedAtPacket.contains(current)
    else { return }
    for index in 0..<Int(self.context.pointee.nb_streams) where self.kind(of: index) == kind && index != current {
      self.setActive(true, stream: index)
    }
  }

  private func kind(of index: Int) -> MediaKind? {
    switch self.stream(index).pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: .video
    case AVMEDIA_TYPE_AUDIO: .audio
    default: nil
    }
  }

  /// Numbers of packets that follow one, within two seconds of its stream, by the indices of their streams.
  private func streamsAhead(of packet: AVPacket) -> [Int: Int] {
    var counts: [Int: Int] = [:]
    let start = self.time(of: packet)
    self.readAhead { next in
      counts[Int(next.stream_index), default: 0] += 1
      guard next.stream_index == packet.stream_index, let start, let time = self.time(of: next) else { return true }
      return (-Self.span...Self.span).contains(time &- start)
    }
    return counts
  }
}
