import HLS
import Media
import RTMP

extension TrackObservation {
  /// One line for a report.
  var line: String {
    func number(_ value: Double?) -> String { value.map { "\(($0 * 1000).rounded() / 1000)" } ?? "none" }
    var parts = [
      "\(self.kind.rawValue) \(self.codec)", "first packet \(number(self.firstPacket))",
      "received for \(number(self.duration))", "frames \(self.frameCount)",
    ]
    if self.kind == .video {
      parts.append("parameter sets \(self.parameterSets.rawValue)")
      parts += [self.profileLevelID, self.size].compactMap(\.self)
      parts.append("reordered \(self.isReordered)")
      parts.append("keyframes \(self.keyframes.prefix(8).map { number($0) }.joined(separator: " "))")
    }
    parts.append("pace \(number(self.clockRatio)), jumps \(self.jumpCount), stalls \(self.stallCount)")
    if self.expectedCount > 0 {
      parts.append("packets \(self.expectedCount), lost \(self.lostCount), jitter \(number(self.jitter))")
      parts.append("sender reports \(self.senderReportCount ?? 0), their error \(number(self.senderReportError))")
    }
    return parts.joined(separator: ", ")
  }
}

extension RTSPObservation {
  /// Lines for a report.
  var lines: [String] {
    var lines = self.exchanges.map { "\($0.method) \($0.status) after \(Int(($0.seconds * 1000).rounded())) ms" }
    if !self.loginSchemes.isEmpty { lines.append("login \(self.loginSchemes.joined(separator: ", "))") }
    lines += self.announced.map { "announced \($0.kind) \($0.codec)" }
    lines += self.tracks.map(\.line)
    if let failure { lines.append("failure \(failure), pending \(self.pendingMethod ?? "none")") }
    if let closed { lines.append("closed \(TrackObservation.text(closed)) s after PLAY") }
    return lines + ["keep-alive \(self.keepAliveStatus.map { "\($0)" } ?? "none")", "datagrams \(self.datagrams)"]
  }
}

extension HLSObservation {
  /// Lines for a report.
  var lines: [String] {
    func line(_ resource: Resource, _ kind: String) -> String {
      "\(kind) \(resource.status.map { "\($0)" } ?? resource.failure.map { "\($0)" } ?? "no response"), "
        + "\(resource.contentType ?? "no type"), "
        + "\(resource.byteCount) bytes in \(TrackObservation.text(resource.seconds)) s, "
        + "\(resource.allowsOtherOrigins ? "CORS" : "no CORS")"
    }
    var lines = self.playlists.map { line($0, "playlist") } + self.initializations.map { line($0, "initialization") }
    lines += self.keys.map { line($0, "key") } + (self.audio?.resources ?? []).map { line($0, "audio") }
    lines += self.segments.map { segment in
      line(segment.resource, "segment of \(segment.duration) s")
        + ", keyframe \(segment.startsWithKeyframe.map { "\($0)" } ?? "unknown")"
    }
    if let media {
      lines.append(
        "version \(media.version), target \(media.targetDuration ?? 0), part \(media.partTarget ?? 0), "
          + "segments \(media.availableSegments.count) of \(media.segments.count), ended \(media.isEnded)")
    }
    if let span = self.reloadSpan {
      lines.append("reloaded for \(TrackObservation.text(span)) s, advanced \(self.hasAdvanced)")
    }
    return lines + ["variants \(self.variantCount), ALPN \(self.negotiatedProtocol ?? "none")"]
  }
}

extension RTMPObservation {
  /// Lines for a report.
  var lines: [String] {
    var lines = ["accepted after \(self.started.map { TrackObservation.text($0) } ?? "none")"] + self.tracks.map(\.line)
    if let failure { lines.append("ended at \(failure.step.rawValue): \(failure.code)") }
    lines += self.otherTracks.map { "other track \($0.kind) \($0.codec)" }
    return lines
  }
}

extension MotionJPEGObservation {
  /// Lines for a report.
  var lines: [String] {
    [
      "\(self.contentType ?? "no type"), \(self.images.count) images in \(TrackObservation.text(self.duration)) s, "
        + "damaged \(self.damagedCount), ended \(self.hasEnded), snapshot \(self.isSnapshot)"
    ]
  }
}
