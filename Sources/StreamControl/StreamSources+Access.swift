internal import Capture
package import Media
internal import Synchronization
internal import Threading

extension StreamSources {
  /// Replaces sources on behalf of a remote client.
  ///
  /// A client without the operator role may choose what ``SourceAccessPolicy`` allows: options of a source and names of
  /// system libraries can reach files and other machines, so a device must also be in the catalog's list.
  ///
  /// - Parameters:
  ///   - requested: Names of the new sources. A source that the stream started with may be named as ``shown(isOperator:)``
  ///     shows it.
  ///   - isOperator: Whether the client has the operator role.
  /// - Throws: As ``replace(video:audio:)``, and `notPermitted`. The message contains no password, and for a client
  ///   without the operator role no folder.
  package func replace(_ requested: SourceNames, isOperator: Bool) async throws(VidiconError) {
    let sources = self.texts(with: [requested.video, requested.audio])
    do throws(VidiconError) {
      let named = try self.sources(namedBy: requested)
      let unlisted = isOperator ? [] : try self.checkAccess(to: named)
      let reach = SourceReach(
        start: self.start, fileFolders: self.catalog.fileFolders, allowsLinkLocal: self.catalog.allowsLinkLocal)
      let reached = await WorkerThread.run(named: "reach", timeout: self.openingTimeout) { reach.resolve(named) }
      guard let reached else {
        throw VidiconError(
          .timedOut, subject: named.video?.name ?? named.audio?.name ?? "source",
          cause: "its host name is not resolved",
          nextStep: "check the name and the network")
      }
      let resolved = try reached.get()
      let isConfined =
        resolved.video.map { $0.reachesOut && !self.start.contains($0.name) } ?? false
        || resolved.audio.map { $0.reachesOut && !self.start.contains($0.name) } ?? false
      try await self.exclusively { () throws(VidiconError) in
        try await self.checkListed(unlisted)
        try await self.exchange(resolved, isConfined: isConfined)
      }
    } catch {
      throw error.withoutSecrets(of: sources, isOperator: isOperator)
    }
  }

  /// Replaces sources on behalf of the owner, whose configuration has changed: as ``replace(video:audio:)``, with an error that contains no
  /// password.
  package func replaceByConfiguration(
    video: SourceSpecification.Video?, audio: SourceSpecification.Audio?
  ) async throws(VidiconError) {
    let sources = self.texts(with: [video?.name, audio?.name])
    do throws(VidiconError) {
      try await self.replace(video: video, audio: audio)
    } catch {
      throw error.withoutSecrets(of: sources, isOperator: true)
    }
    // Clients may choose them again, and those of before no longer.
    self.configured.withLock { start in
      if let video { start.video = video }
      if let audio { start.audio = audio }
    }
  }

  /// Names that an error of a change may quote: a failure may be about a requested source, or about the previous one.
  private func texts(with requested: [String?]) -> [SourceText] {
    let known = [self.start, self.selection].flatMap { [$0.video?.name, $0.audio?.name] }
    return (requested + known).compactMap { $0.map(SourceText.init) }
  }

  /// The requested sources. The shown name of a start source stands for that source.
  private func sources(namedBy requested: SourceNames) throws(VidiconError) -> SourceSelection {
    var selection = SourceSelection()
    for isOperator in [true, false] {
      let shown = self.start.shown(isOperator: isOperator)
      if requested.video == shown.video { selection.video = self.start.video }
      if requested.audio == shown.audio { selection.audio = self.start.audio }
    }
    if let name = requested.video, selection.video == nil { selection.video = try .init(naming: name) }
    if let name = requested.audio, selection.audio == nil { selection.audio = try .init(naming: name) }
    return selection
  }

  /// Checks sources against the policy.
  ///
  /// - Returns: Names of the devices that are allowed if the catalog lists them.
  private func checkAccess(to requested: SourceSelection) throws(VidiconError) -> [String] {
    let policy = SourceAccessPolicy(start: [self.start])
    if let video = requested.video, !policy.allows(video) { throw .operatorOnly(video.name) }
    if let audio = requested.audio, !policy.allows(audio) { throw .operatorOnly(audio.name) }
    var devices: [String] = []
    if let video = requested.video, video.isDevice { devices.append(video.name) }
    if let audio = requested.audio, audio.isDevice { devices.append(audio.name) }
    return devices.filter { !policy.isStart($0) }
  }

  /// Checks that devices are in the catalog's list, which takes seconds.
  private func checkListed(_ devices: [String]) async throws(VidiconError) {
    guard !devices.isEmpty else { return }
    let listed = Set((await self.catalog.listDevices() ?? []).map(\.sourceName))
    if let missing = devices.first(where: { !listed.contains($0) }) { throw .operatorOnly(missing) }
  }
}

extension CaptureDevice {
  /// The name of the device as a source, in the form of ``SourceSpecification/Video/name``.
  fileprivate var sourceName: String {
    self.kind == .microphone
      ? SourceSpecification.Audio(stringLiteral: self.specification).name
      : SourceSpecification.Video(stringLiteral: self.specification).name
  }
}

extension SourceSpecification.Video {
  /// Whether it is a file or an address.
  fileprivate var reachesOut: Bool {
    switch self {
    case .file, .network: true
    case .plasma, .noise, .bars, .pipe, .camera, .screen, .published, .other: false
    }
  }

  /// Whether it is a device, which catalogs list.
  fileprivate var isDevice: Bool {
    switch self {
    case .camera, .screen: true
    case .plasma, .noise, .bars, .file, .pipe, .network, .published, .other: false
    }
  }
}

extension SourceSpecification.Audio {
  /// Whether it is a file or an address.
  fileprivate var reachesOut: Bool {
    switch self {
    case .file, .network: true
    case .auto, .tone, .silence, .microphone, .none, .other: false
    }
  }

  /// Whether it is a device, which catalogs list.
  fileprivate var isDevice: Bool { if case .microphone = self { true } else { false } }
}

extension VidiconError {
  /// The error with each source as it is shown.
  fileprivate func withoutSecrets(of sources: [SourceText], isOperator: Bool) -> VidiconError {
    func redacted(_ text: String) -> String {
      sources.reduce(text) { $1.redacted($0, isOperator: isOperator) }
    }
    return VidiconError(
      self.code, subject: redacted(self.subject), cause: redacted(self.cause), nextStep: redacted(self.nextStep))
  }

  /// Only an operator may choose this source.
  fileprivate static func operatorOnly(_ source: String) -> VidiconError {
    VidiconError(
      .notPermitted, subject: SourceText(source).shown(isOperator: false),
      cause: "this source can be chosen by an operator only",
      nextStep: "log in to control, with --operator's name and password or the token of the terminal")
  }
}
