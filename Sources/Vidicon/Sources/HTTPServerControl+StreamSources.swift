internal import Capture
internal import CaptureDevices
internal import HTTPServer
internal import StreamControl
internal import Streaming

extension HTTPServerControl {
  /// A stream's sources, as HTTP offers them.
  init(_ sources: StreamSources) {
    self.init { isTrusted in
      State(sources, isTrusted: isTrusted)
    } controls: {
      sources.controls
    } replace: { wanted, isTrusted throws(Failure) in
      let named = sources.startSources(namedBy: wanted)
      // What fails may also be what was there before.
      let texts = [named.video, named.audio, sources.video, sources.audio, sources.start.video, sources.start.audio]
        .compactMap { $0.map(SourceText.init) }
      do throws(SourceChangeError) {
        let unlisted = isTrusted ? [] : try sources.checkOpenness(of: named)
        try await sources.inTurn { () throws(SourceChangeError) in
          try await sources.checkListed(unlisted)
          try await sources.exchange(named)
        }
      } catch {
        throw Failure(error, about: texts, isTrusted: isTrusted)
      }
    } change: { change throws(Failure) in
      do throws(SourceChangeError) {
        try await sources.change(change)
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
    self.isPaused = stream.isEncodingPaused
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
    case .wrongState: self.init(.wrongState, reason)
    case .failed(let error) where error.code == .wrongState: self.init(.wrongState, reason)
    case .failed, .notRestored: self.init(.failed, reason)
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
  ///
  /// - Returns: Those that they may have if they are listed: options and names of the system's libraries can mean files and
  ///   other machines.
  fileprivate func checkOpenness(of wanted: HTTPServerControl.Sources) throws(SourceChangeError) -> [SourceText] {
    let openness = SourceAccessPolicy(start: [self.start])
    var unlisted: [SourceText] = []
    for (text, isAudio) in [(wanted.video, false), (wanted.audio, true)] {
      guard let text else { continue }
      let source = SourceText(text)
      guard openness.mayBeOpen(source, isAudio: isAudio) else {
        throw .notPermitted(source: source.shown(isTrusted: false))
      }
      if source.scheme != nil, !openness.isStart(source) { unlisted.append(source) }
    }
    return unlisted
  }

  /// Checks that devices are there; called in turn, since it asks all of them.
  fileprivate func checkListed(_ sources: [SourceText]) async throws(SourceChangeError) {
    guard !sources.isEmpty else { return }
    let listed = Set((await self.offer.listDevices() ?? []).map(\.specification))
    if let missing = sources.first(where: { !listed.contains($0.text) }) {
      throw .notPermitted(source: missing.shown(isTrusted: false))
    }
  }
}
