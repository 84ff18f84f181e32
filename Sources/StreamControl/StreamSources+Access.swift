internal import Capture
package import Media
internal import MediaInput
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
    let named = self.startSources(namedBy: requested)
    // A failure may be about a requested source, or about the previous one.
    let sources = [named.video, named.audio, self.video, self.audio, self.start.video, self.start.audio]
      .compactMap { $0.map(SourceText.init) }
    do throws(VidiconError) {
      let unlisted = isOperator ? [] : try self.checkAccess(to: named)
      let reach = SourceReach(
        start: self.start, fileFolders: self.catalog.fileFolders, allowsLinkLocal: self.catalog.allowsLinkLocal)
      let reached = await WorkerThread.run(named: "reach", timeout: self.openingTimeout) { reach.resolve(named) }
      guard let reached else {
        throw VidiconError(
          .timedOut, subject: named.video ?? named.audio ?? "source", cause: "its host name is not resolved",
          nextStep: "check the name and the network")
      }
      let resolved = try reached.get()
      let isConfined = [resolved.video, resolved.audio].contains { text in
        guard let text, text != self.start.video, text != self.start.audio else { return false }
        return SourceText(text).scheme == "file" || NetworkSpecification.matches(text)
      }
      try await self.exclusively { () throws(VidiconError) in
        try await self.checkListed(unlisted)
        try await self.exchange(resolved, isConfined: isConfined)
      }
    } catch {
      func redacted(_ text: String) -> String {
        sources.reduce(text) { $1.redacted($0, isOperator: isOperator) }
      }
      throw VidiconError(
        error.code, subject: redacted(error.subject), cause: redacted(error.cause), nextStep: redacted(error.nextStep))
    }
  }

  /// The requested names, with the shown name of a start source replaced by its full text.
  private func startSources(namedBy requested: SourceNames) -> SourceNames {
    func named(_ requested: String?, _ start: String?) -> String? {
      guard let requested, let start else { return requested }
      let text = SourceText(start)
      return [true, false].contains { text.shown(isOperator: $0) == requested } ? start : requested
    }
    return SourceNames(
      video: named(requested.video, self.start.video), audio: named(requested.audio, self.start.audio))
  }

  /// Checks sources against the policy.
  ///
  /// - Returns: The devices that are allowed if the catalog lists them.
  private func checkAccess(to requested: SourceNames) throws(VidiconError) -> [SourceText] {
    let policy = SourceAccessPolicy(start: [self.start])
    var unlisted: [SourceText] = []
    for (text, isAudio) in [(requested.video, false), (requested.audio, true)] {
      guard let text else { continue }
      let source = SourceText(text)
      guard policy.allows(source, isAudio: isAudio) else { throw .operatorOnly(source) }
      if source.scheme != nil, !policy.isStart(source) { unlisted.append(source) }
    }
    return unlisted
  }

  /// Checks that devices are in the catalog's list, which takes seconds.
  private func checkListed(_ sources: [SourceText]) async throws(VidiconError) {
    guard !sources.isEmpty else { return }
    let listed = Set((await self.catalog.listDevices() ?? []).map(\.specification))
    if let missing = sources.first(where: { !listed.contains($0.text) }) { throw .operatorOnly(missing) }
  }
}

extension VidiconError {
  /// Only an operator may choose this source.
  fileprivate static func operatorOnly(_ source: SourceText) -> VidiconError {
    VidiconError(
      .notPermitted, subject: source.shown(isOperator: false),
      cause: "this source can be chosen by an operator only",
      nextStep: "log in to control, with --operator's name and password or the token of the terminal")
  }
}
