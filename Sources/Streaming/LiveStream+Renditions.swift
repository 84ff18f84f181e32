public import Media
internal import Threading

extension LiveStream {
  /// Paths of the main rendition, `NAME/main`, and of the others, `NAME/RENDITION`; of those that it may have before it has started.
  package var renditionPaths: [String] {
    guard self.shared.renditions.changes > 0 else { return self.videoSettings.renditions.paths(of: self.name) }
    return ([RenditionName.main] + self.renditions.map(\.name)).map { "\(self.name)/\($0)" }
  }

  /// Number of changes of ``renditionPaths``; costs an atomic load.
  package var renditionChanges: Int { self.shared.renditions.changes }

  /// Adds a rendition, or replaces the one of its name, while the stream runs.
  ///
  /// Viewers of a replaced rendition are disconnected, as those of one that is removed; where only the bitrate differs, they stay.
  ///
  /// - Throws: ``VidiconError``, and nothing is changed: `invalidSpecification` for settings that cannot be used with this stream,
  ///   `wrongState` when it has no video or has not started, or has ended.
  public func setRendition(_ settings: RenditionSettings) async throws(VidiconError) {
    try await self.changeRenditions { (renditions) throws(VidiconError) in try renditions.set(settings) }
  }

  /// Removes a rendition while the stream runs: RTSP connections that play it are closed, its HLS files are gone, a recording
  /// of it is finished.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/notFound`` where there is none of that name.
  public func removeRendition(named name: String) async throws(VidiconError) {
    try await self.changeRenditions { (renditions) throws(VidiconError) in try renditions.remove(named: name) }
  }

  private func changeRenditions(
    _ body: @escaping @Sendable (RenditionSet) throws(VidiconError) -> Void
  ) async throws(VidiconError) {
    guard await self.renditionLock.lock() else { throw .streamRequestCancelled }
    defer { self.renditionLock.unlock() }
    // Closing an encoder blocks.
    let result = await WorkerThread.run(named: "renditions") { [shared] () -> Result<Void, VidiconError> in
      do throws(VidiconError) {
        return .success(try body(shared.renditions))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread("rendition") }
    try result.get()
  }
}
