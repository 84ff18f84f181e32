import Media

extension TrackObservation {
  /// Maximum deviation of the timestamps' pace from the clock, measured over some seconds.
  private static let maximumPaceDeviation = 0.05
  /// Share of lost packets that players conceal.
  private static let maximumLoss = 0.005
  /// Number of lost packets up to which they say nothing: a server may leave out some where the second session of a check begins.
  private static let harmlessLossCount = 4
  /// Jitter in seconds that the buffers of players even out.
  private static let maximumJitter = 0.1
  /// Time for which frames of a source that pauses may have the same timestamp.
  private static let maximumStillTime = 1.0
  /// Difference of clocks in seconds that is not visible.
  private static let maximumReportError = 0.1

  /// Findings about timestamps and sender reports.
  var timingFindings: [StreamFinding] {
    let subject = "\(self.kind.rawValue) timestamps"
    let advice = CheckFinding.Remedy.advice(
      "let the sender stamp frames by its clock; ffmpeg: -use_wallclock_as_timestamps 1")
    var findings: [StreamFinding] = []
    if self.stillTime > Self.maximumStillTime {
      findings.append(
        StreamFinding(
          .timing,
          .warning(
            subject, "they stand still for \(Self.text(self.stillTime)) s while frames arrive, so that players stall",
            advice)))
    } else if self.jumpCount > 0 {
      findings.append(
        StreamFinding(.timing, .warning(subject, "they jump by more than a second, \(self.jumpCount) times", advice)))
    } else if self.stallCount == 0, let ratio = self.clockRatio, abs(ratio - 1) > Self.maximumPaceDeviation {
      let percent = Int((abs(ratio - 1) * 100).rounded())
      findings.append(
        StreamFinding(
          .timing,
          .warning(
            subject,
            "they run \(percent)% \(ratio > 1 ? "faster" : "slower") than the clock, so that players stall or drop",
            advice)))
    } else if self.stallCount == 0, self.clockRatio != nil {
      findings.append(StreamFinding(.timing, .ok(subject, "they keep pace with the clock")))
    }
    // Reports compare the wall clock with the timestamps: wrong ones are named already.
    let isPaced = findings.allSatisfy { $0.finding.verdict == .ok }
    if isPaced, let error = self.senderReportError, error > Self.maximumReportError {
      findings.append(
        StreamFinding(
          .timing,
          .warning(
            "\(self.kind.rawValue) sender reports",
            "their two clocks differ by \(Self.text(error)) s from one report to the next",
            .advice("update the firmware of the camera, or the server"))))
    }
    return findings
  }

  /// Findings about stalls, and about loss and jitter of RTP.
  var transportFindings: [StreamFinding] {
    let subject = "\(self.kind.rawValue) packets"
    if self.stallCount > 0 {
      return [
        StreamFinding(
          .transport,
          .warning(
            subject,
            "none arrives for more than a second, \(self.stallCount) times, and the timestamps go on as before: players stall",
            .advice("check the network and the load of the server; lower the bitrate where the network is slower")))
      ]
    }
    guard self.expectedCount > 0 else { return [] }
    let share = Double(max(0, self.lostCount)) / Double(self.expectedCount)
    if share > Self.maximumLoss, self.lostCount > Self.harmlessLossCount {
      return [
        StreamFinding(
          .transport,
          .warning(
            subject, "\(self.lostCount) of \(self.expectedCount) are missing",
            .advice("lower the bitrate, or use a cable; over TCP the server itself has dropped them")))
      ]
    }
    if let jitter, jitter > Self.maximumJitter {
      return [
        StreamFinding(
          .transport,
          .warning(
            subject, "they arrive unevenly, with a jitter of \(Int((jitter * 1000).rounded())) ms",
            .advice("check the load of the server and the network, Wi-Fi above all")))
      ]
    }
    return [StreamFinding(.transport, .ok(subject, "\(self.expectedCount), \(self.lostCount) lost"))]
  }

  /// Finding about the offset of two tracks by their sender reports; nil where they have none, or agree.
  static func synchronization(of tracks: [TrackObservation]) -> StreamFinding? {
    guard let video = tracks.first(where: { $0.kind == .video })?.reportedDelay,
      let audio = tracks.first(where: { $0.kind == .audio })?.reportedDelay, abs(video - audio) > 1
    else { return nil }
    return StreamFinding(
      .timing,
      .warning(
        "audio and video",
        "their sender reports differ by \(self.text(abs(video - audio))) s, so that lips do not match",
        .advice("restart the stream at the camera or server, or update it")))
  }
}
