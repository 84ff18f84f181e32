internal import CLibav
internal import Media

/// Streams of the file that continue tracks, as where clips were joined.
extension FileDecoder {
  /// Kind of the track that the packet's stream belongs to, which may replace the stream before; nil where it is not played.
  func kind(ofStream stream: Int) -> MediaKind? {
    if stream == self.file.videoStream { return .video }
    if stream == self.file.audioStream { return .audio }
    guard let kind = self.file.replacedKind(by: self.packet) else { return nil }
    do throws(VidiconError) {
      try self.continueTrack(kind, with: stream)
    } catch {
      // No decoder knows its codec.
      self.file.refuse(stream: stream)
      return nil
    }
    self.file.replaceStream(of: kind, by: self.packet)
    if !self.isActive(kind) { self.file.setActive(false, stream: stream) }
    return kind
  }

  /// Looks for streams that continue tracks whose own streams have ended; called at each packet of the tracks: while the one is switched
  /// off, or nothing comes of it, at those of the other one.
  func admitReplacements() {
    // At keyframes alone: a program has tens of streams.
    guard self.packet.pointee.flags & AV_PKT_FLAG_KEY != 0 else { return }
    for kind in MediaKind.allCases { self.file.admitReplacements(of: kind) }
  }

  /// Seeks to the start of the file; the tracks continue with the streams that it begins with.
  func rewindFile() throws(VidiconError) {
    let streams = MediaKind.allCases.map { ($0, self.file.played[$0]?.index) }
    try self.file.rewind()
    for (kind, previous) in streams {
      guard let stream = self.file.played[kind]?.index else { continue }
      if !self.isActive(kind) { self.file.setActive(false, stream: stream) }
      if stream != previous { try self.continueTrack(kind, with: stream) }
    }
  }

  private func continueTrack(_ kind: MediaKind, with index: Int) throws(VidiconError) {
    let (stream, path) = (try self.file.stream(index), self.file.path)
    switch kind {
    case .video: try self.video?.replace(by: stream, frameRate: self.file.frameRate(index), source: path)
    case .audio: try self.audio?.replace(by: stream, source: path)
    }
    guard !self.isActive(kind) else { return }
    // Decoders of clips that are not decoded would pile up.
    if kind == .video { self.video?.reset() } else { self.audio?.reset() }
  }
}
