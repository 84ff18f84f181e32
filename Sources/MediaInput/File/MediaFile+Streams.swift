internal import CLibav
internal import Media

/// Streams that begin amid the file and replace others.
extension MediaFile {
  /// Time within which streams that begin together have a packet each, in nanoseconds.
  private static let beginning: Int64 = 2_000_000_000
  /// Number of packets that are read ahead to find streams that begin together.
  private static let beginningCount = 256
  /// Likewise to find out whether a stream has ended: several seconds.
  private static let successionCount = 1_024

  /// The stream of a kind that is read; nil where there is none.
  func selectedStream(of kind: MediaKind) -> Int? {
    kind == .video ? self.videoStream : self.audioStream
  }

  /// Whether a stream is of a kind that is played, and may begin where another one ends.
  func mayReplaceStream(_ index: Int) -> Bool {
    self.mayChangeStreams && self.kind(of: index).flatMap { self.selectedStream(of: $0) } != nil
  }

  /// Whether a packet that was read belongs to a stream that replaces the one of its kind. A stream that is beside that one is not read any
  /// more. Reads ahead where a stream may have ended.
  ///
  /// - Returns: The kind; nil for other packets.
  func replacedKind(by packet: UnsafeMutablePointer<AVPacket>) -> MediaKind? {
    let index = Int(packet.pointee.stream_index)
    // Packets of a stream that is not read any more may have been read ahead.
    guard self.mayChangeStreams, self.continuesTracks, self.isRead(index), let kind = self.kind(of: index) else {
      return nil
    }
    guard let current = self.selectedStream(of: kind) else {
      self.setActive(false, stream: index)
      return nil
    }
    switch self.verdict(on: packet.pointee, besides: current) {
    case .isRest: return nil
    case .isBeside: break
    case .replaces:
      // Of several that begin, the one that a player would choose.
      let choice = StreamChoice(self.context, among: self.beginningStreams(with: packet.pointee, behind: current))
      let streams = kind == .video ? choice.video : choice.audio
      if streams.first == index { return kind }
      if streams.contains(index) { return nil }
    }
    self.setActive(false, stream: index)
    return nil
  }

  private func verdict(on packet: AVPacket, besides current: Int) -> StreamSuccession.Verdict {
    let index = Int(packet.stream_index)
    guard self.listedAtPacket.isEmpty else {
      return StreamSuccession.verdict(
        isListed: self.listedAtPacket.contains(index), isCurrentListed: self.listedAtPacket.contains(current),
        hasEnded: self.endedStreams.contains(index))
    }
    // Of a stream that is not read, nothing comes.
    guard self.isRead(current) else { return .isBeside }
    var succession = StreamSuccession(at: self.time(of: packet))
    self.readAhead(packetCount: Self.successionCount) { next in
      let isCurrent = Int(next.stream_index) == current
      guard isCurrent || next.stream_index == packet.stream_index else { return true }
      return succession.append(isCurrent: isCurrent, at: self.time(of: next))
    }
    return succession.verdict
  }

  /// Streams of all kinds that have a packet within two seconds of one, without the one of its kind that has ended.
  private func beginningStreams(with packet: AVPacket, behind ended: Int) -> Set<Int> {
    var streams: Set = [Int(packet.stream_index)]
    let start = self.time(of: packet)
    self.readAhead(packetCount: Self.beginningCount) { next in
      streams.insert(Int(next.stream_index))
      guard next.stream_index == packet.stream_index, let start, let time = self.time(of: next) else { return true }
      return (-Self.beginning...Self.beginning).contains(time &- start)
    }
    let listed = self.listedAtPacket
    return streams.filter { $0 != ended && self.isRead($0) && (listed.isEmpty || listed.contains($0)) }
  }

  /// Reads packets of the streams of a kind that the program map lists where it leaves out the one that is read: one that was beside
  /// that one may go on alone.
  func admitReplacements(of kind: MediaKind) {
    guard self.mayChangeStreams, !self.listedAtPacket.isEmpty, let current = self.selectedStream(of: kind),
      !self.listedAtPacket.contains(current)
    else { return }
    for index in self.listedAtPacket where self.kind(of: index) == kind { self.setActive(true, stream: index) }
  }

  private func isRead(_ index: Int) -> Bool {
    guard let stream = try? self.stream(index) else { return false }
    return stream.pointee.discard != AVDISCARD_ALL
  }

  private func kind(of index: Int) -> MediaKind? {
    guard let stream = try? self.stream(index) else { return nil }
    return switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: .video
    case AVMEDIA_TYPE_AUDIO: .audio
    default: nil
    }
  }
}
