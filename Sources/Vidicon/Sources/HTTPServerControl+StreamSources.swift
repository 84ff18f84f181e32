internal import Capture
internal import HTTPServer
internal import Streaming

extension HTTPServerControl {
  /// A stream's sources, as HTTP offers them.
  init(_ sources: StreamSources) {
    self.init { isTrusted in
      State(sources, isTrusted: isTrusted)
    } controls: {
      sources.controls
    } replace: { wanted, isTrusted throws(Failure) in
      let texts = [wanted.video, wanted.audio].compactMap { $0.map(SourceText.init) }
      do throws(SourceChangeError) {
        let named = sources.startSources(namedBy: wanted)
        if !isTrusted { try await sources.checkOpenness(of: named) }
        try await sources.replace(video: named.video, audio: named.audio)
      } catch {
        throw Failure(error, about: texts, isTrusted: isTrusted)
      }
    } change: { change throws(Failure) in
      do throws(SourceChangeError) {
        try await sources.inTurn { () throws(SourceChangeError) in try await sources.apply(change) }
      } catch {
        throw Failure(error, about: [], isTrusted: true)
      }
    }
  }
}

extension HTTPServerControl.State {
  fileprivate init(_ sources: StreamSources, isTrusted: Bool) {
    func shown(_ text: String?) -> String? { text.map { SourceText($0).shown(isTrusted: isTrusted) } }
    let stream = sources.stream
    self.init(
      sources: .init(video: shown(sources.video), audio: shown(sources.audio)),
      startSources: .init(video: shown(sources.start.video), audio: shown(sources.start.audio)),
      bitrate: stream.videoBitrate)
    self.isMirrored = stream.isMirrored
    self.rotation = stream.rotation
    self.isPreviewMirrored = stream.isPreviewMirrored
    self.isMuted = stream.isMuted
    self.isPaused = stream.pauseEncoding
    (self.peakLevel, self.rmsLevel) = (stream.audioLevel.peak, stream.audioLevel.rms)
    self.hasControls = stream.videoSource is any ControllableCapturer
  }
}

extension HTTPServerControl.Failure {
  fileprivate init(_ error: SourceChangeError, about sources: [SourceText], isTrusted: Bool) {
    let reason = sources.reduce(error.description) { $1.redacted($0, isTrusted: isTrusted) }
    switch error {
    case .invalid: self.init(.invalid, reason)
    case .notPermitted: self.init(.notPermitted, reason)
    case .wrongState, .failed(.missingTrack), .failed(.ended): self.init(.wrongState, reason)
    case .failed: self.init(.failed, reason)
    case .busy: self.init(.busy, reason)
    }
  }
}

extension StreamSources {
  /// What is wanted, where a source that the stream began with is meant by the part of its text that is told.
  fileprivate func startSources(namedBy wanted: HTTPServerControl.Sources) -> HTTPServerControl.Sources {
    func named(_ wanted: String?, _ start: String?) -> String? {
      guard let wanted, let start else { return wanted }
      let text = SourceText(start)
      return [true, false].contains { text.shown(isTrusted: $0) == wanted } ? start : wanted
    }
    return .init(video: named(wanted.video, self.start.video), audio: named(wanted.audio, self.start.audio))
  }

  /// Checks that those who are not trusted may have sources.
  fileprivate func checkOpenness(of wanted: HTTPServerControl.Sources) async throws(SourceChangeError) {
    let openness = SourceOpenness(start: [self.start])
    var devices: [CaptureDevice]?
    for (text, isAudio) in [(wanted.video, false), (wanted.audio, true)] {
      guard let text else { continue }
      let source = SourceText(text)
      guard openness.mayBeOpen(source, isAudio: isAudio) else {
        throw .notPermitted(source: source.shown(isTrusted: false))
      }
      guard source.scheme != nil, !openness.isStart(source) else { continue }
      // Options and names of the system's libraries can mean files and other machines: only what is listed counts.
      if devices == nil { devices = await self.offer.devices() }
      guard devices?.contains(where: { $0.specification == text }) == true else {
        throw .notPermitted(source: source.shown(isTrusted: false))
      }
    }
  }
}
