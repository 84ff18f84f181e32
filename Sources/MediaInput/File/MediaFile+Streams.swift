internal import CLibav
internal import Media

/// Streams that begin amid the file and replace others.
extension MediaFile {
  /// Time within which streams that begin together have a packet each, in nanoseconds.
  private static let beginning: Int64 = 2_000_000_000
  /// Limits of what is read ahead to find streams that begin together.
  private static let beginningLimit = (packetCount: 256, byteCount: 16 << 20)
  /// Likewise to find out whether a stream has ended: three seconds of 170 Mbit/s.
  private static let successionLimit = (packetCount: 1_024, byteCount: 64 << 20)

  /// Index of the video stream that is read; nil when there is none.
  var videoStream: Int? { self.played[.video]?.index }
  /// Index of the audio stream that is read; nil when there is none.
  var audioStream: Int? { self.played[.audio]?.index }

  /// Whether a stream is of a kind that is played, and may begin where another one ends.
  func mayReplaceStream(_ index: Int) -> Bool {
    self.mayChangeStreams && self.kind(of: index).map { self.played[$0] != nil } ?? false
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
    guard let current = self.played[kind] else {
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

  private func verdict(on packet: AVPacket, besides current: PlayedStream) -> StreamSuccession.Verdict {
    let verdict =
      current.verdict(onPacketOf: Int(packet.stream_index), listed: self.listedAtPacket)
      ?? self.verdictWithoutMaps(on: packet, besides: current.index)
    return verdict == .replaces && !current.isBefore(packet.pos) ? .isRest : verdict
  }

  private func verdictWithoutMaps(on packet: AVPacket, besides current: Int) -> StreamSuccession.Verdict {
    // Of a stream that is not read, nothing comes: the verdict waits until it is.
    guard self.isRead(current) else { return .isRest }
    var succession = StreamSuccession(at: self.time(of: packet))
    self.readAhead(within: Self.successionLimit) { next in
      let isCurrent = Int(next.stream_index) == current
      guard isCurrent || next.stream_index == packet.stream_index else { return true }
      return succession.append(isCurrent: isCurrent, at: self.time(of: next))
    }
    return succession.verdict
  }

  /// Streams of all kinds that have a packet within two seconds of one, and may replace the one of its kind that has ended.
  private func beginningStreams(with packet: AVPacket, behind ended: PlayedStream) -> Set<Int> {
    var streams: Set = [Int(packet.stream_index)]
    let start = self.time(of: packet)
    self.readAhead(within: Self.beginningLimit) { next in
      streams.insert(Int(next.stream_index))
      guard next.stream_index == packet.stream_index, let start, let time = self.time(of: next) else { return true }
      return (-Self.beginning...Self.beginning).contains(time &- start)
    }
    let successors = ended.successors(in: self.listedAtPacket)
    return streams.filter {
      $0 != ended.index && self.isRead($0) && (successors.isEmpty || successors.contains($0))
    }
  }

  /// Reads packets of the streams of a kind that may replace the one that is read where the program map leaves that out: one that was
  /// beside it may go on alone.
  func admitReplacements(of kind: MediaKind) {
    guard let current = self.played[kind] else { return }
    for index in current.successors(in: self.listedAtPacket).subtracting(self.refused)
    where self.kind(of: index) == kind { self.setActive(true, stream: index) }
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
