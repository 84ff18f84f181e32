import Media

extension TrackObservation {
  /// Findings about the track.
  ///
  /// - Parameter clients: Clients of the protocol, none of which plays without the video.
  func findings(clients: Set<StreamClient>) -> [StreamFinding] {
    guard let first = self.firstPacket else { return [self.silence(clients: clients)] }
    var findings: [StreamFinding] = []
    if first > Self.promptStart {
      findings.append(
        StreamFinding(
          .tracks,
          .warning(
            "\(self.kind.rawValue) track", "its first packet comes after \(Self.text(first)) s",
            .advice("look into the log of the server: it may start its source for the first viewer only")),
          delays: clients))
    } else {
      findings.append(
        StreamFinding(
          .tracks, .ok("\(self.kind.rawValue) track", "\(self.codec), its first packet after \(Self.text(first)) s")))
    }
    if self.kind == .video { findings += self.videoFindings(clients: clients) }
    findings += self.timingFindings + self.transportFindings
    return findings
  }

  private func silence(clients: Set<StreamClient>) -> StreamFinding {
    guard self.duration >= Self.minimumSilence else {
      return StreamFinding(
        .tracks,
        .ok(
          "\(self.kind.rawValue) track",
          "announced as \(self.codec); not known whether it comes: received for \(Self.text(self.duration)) s only"))
    }
    // Players wait for video; of audio alone that is missing they take no notice, or wait too.
    let meaning = "announced as \(self.codec), and nothing arrives within \(Self.text(self.duration)) s"
    let subject = "\(self.kind.rawValue) track"
    guard self.kind == .video else {
      return StreamFinding(
        .tracks,
        .warning(subject, meaning, .advice("check the microphone of the source, or serve the stream without audio")),
        delays: clients)
    }
    return StreamFinding(
      .tracks, .fault(subject, meaning, .advice("check that the source of the stream delivers video")), blocks: clients)
  }

  private func videoFindings(clients: Set<StreamClient>) -> [StreamFinding] {
    guard self.parameterSets != .missing else {
      // They may come with the first keyframe.
      guard self.hasIDRSlices else { return [self.keyframeFinding(clients: clients)] }
      return [
        StreamFinding(
          .video,
          .fault(
            "parameter sets", "neither announced nor in the stream, so that no decoder can start",
            .advice("let the encoder repeat them with each keyframe; ffmpeg: -bsf:v dump_extra")), blocks: clients)
      ]
    }
    var findings = [self.parameterSetFinding]
    findings += [self.formatFinding, self.reorderFinding].compactMap(\.self)
    return findings + [self.keyframeFinding(clients: clients)]
  }

  private var parameterSetFinding: StreamFinding {
    let format = [self.size, self.profileLevelID.map { "profile-level-id \($0)" }].compactMap(\.self)
      .joined(separator: ", ")
    let origin = self.parameterSets == .stream ? "in the stream only" : "announced"
    return StreamFinding(
      .video, .ok("parameter sets", [format, origin].filter { !$0.isEmpty }.joined(separator: ", ")))
  }

  private var formatFinding: StreamFinding? {
    guard self.chromaFormat ?? 1 != 1 || self.bitDepth ?? 8 != 8 else { return nil }
    return StreamFinding(
      .video,
      .warning(
        "profile", "its chroma or bit depth is not 4:2:0 with 8 bits, which browsers and most hardware do not decode",
        .advice("encode with the pixel format yuv420p; ffmpeg: -pix_fmt yuv420p")),
      blocks: [.webRTC, .browsers, .safari])
  }

  private var reorderFinding: StreamFinding? {
    guard self.isReordered else { return nil }
    return StreamFinding(
      .video,
      .warning(
        "B-frames", "frames come in another order than they are displayed in, which WebRTC does not have",
        .advice("switch them off at the encoder; ffmpeg: -bf 0, x264: --tune zerolatency")), blocks: [.webRTC])
  }

  private func keyframeFinding(clients: Set<StreamClient>) -> StreamFinding {
    let advice = CheckFinding.Remedy.advice("set the keyframe interval of the encoder to 2 s")
    guard let first = self.keyframes.first, let distance = self.keyframeDistance else {
      let seconds = self.duration - (self.firstPacket ?? 0)
      guard seconds > Self.maximumKeyframeDistance else {
        return StreamFinding(.video, .ok("keyframes", "not known: none in the \(Self.text(seconds)) s of the check"))
      }
      return StreamFinding(
        .video,
        .warning("keyframes", "more than \(Self.text(seconds)) s apart: a viewer waits for the next one", advice),
        delays: clients.union([.webRTC]))
    }
    if first > Self.promptStart {
      return StreamFinding(
        .video, .warning("keyframes", "the first one comes after \(Self.text(first)) s", advice), delays: clients)
    }
    let rest = self.duration - first
    if rest > Self.maximumKeyframeDistance, Double(self.frameCount) < rest * Self.minimumFrameRate {
      return StreamFinding(
        .video,
        .warning(
          "frames", "\(self.frameCount) in \(Self.text(rest)) s: the source is slow, or has stalled",
          .advice("check the frame rate of the source, and that it delivers")), delays: clients)
    }
    let isOpen = self.keyframes.count == 1
    let text = "\(isOpen ? "more than " : "")\(Self.text(distance)) s apart"
    if distance > Self.maximumKeyframeDistance {
      return StreamFinding(
        .video,
        .warning("keyframes", "\(text): without the last one of the server, a viewer waits that long", advice),
        delays: clients.union([.webRTC]))
    }
    return StreamFinding(.video, .ok("keyframes", "the first after \(Self.text(first)) s, \(text)"))
  }

  /// A number with one decimal.
  static func text(_ seconds: Double) -> String { "\((seconds * 10).rounded() / 10)" }
}
