internal import Authentication
internal import HLS
package import HTTPServer
package import Media
package import NIOCore
package import NIOPosix
package import Streaming
internal import Synchronization
internal import Threading

/// The media of streams over HTTP: HLS, motion JPEG and snapshots, with their viewers and counters.
///
/// Playlists, segments and images are built once and shared by all responses. An ``HTTPApplication`` has the addresses; see
/// ``MediaPath``.
///
/// `WebServer` has one, and calls it from any task when streams come and go, and on event loops for requests:
///
/// ```swift
/// hls.serve(hls.makeServedStream(stream))
/// if let response = hls.respondAtOnce(to: request, client: client) { return response }
/// ```
package final class HLSServer: Sendable {
  /// The served streams, and those that have ended recently.
  package let streams = ServedStreams()
  /// Rules of hosts, origins and header fields.
  let policy: HTTPPolicy
  /// Targets and heads of responses that many viewers get.
  let prepared = PreparedResponses()
  let clock = StreamClock.system
  private let group: MultiThreadedEventLoopGroup
  private let viewerIdleTime: MediaDuration
  /// Streams of another process that are not served here yet.
  private let suspended = Mutex<HLSSuspendedStreams?>(nil)

  /// Creates the media of a server.
  ///
  /// - Parameters:
  ///   - policy: Rules of the server for all responses.
  ///   - group: The event loops of the server's connections.
  ///   - viewerIdleTime: ``HTTPServerLimits/viewerIdleTime``.
  package init(policy: HTTPPolicy, group: MultiThreadedEventLoopGroup, viewerIdleTime: MediaDuration) {
    self.policy = policy
    self.group = group
    self.viewerIdleTime = viewerIdleTime
  }

  /// Viewers and bytes sent of a stream over HTTP; zero when it is not served.
  package func statistics(of stream: LiveStream) -> HTTPStreamStatistics {
    guard let served = self.streams[stream] else { return HTTPStreamStatistics() }
    let now = self.clock.now()
    return HTTPStreamStatistics(
      hlsViewers: served.viewers(of: .hls, at: now), motionJPEGViewers: served.viewers(of: .mjpeg, at: now),
      bytesSent: ServedStream.Content.allCases.reduce(0) { $0 + served.bytesSent(of: $1) })
  }

  /// HLS viewers of a rendition; zero when its stream is not served. Those of the main one are the stream's others.
  package func hlsViewers(of rendition: Rendition) -> Int {
    guard let served = self.streams[rendition.stream] else { return 0 }
    let now = self.clock.now()
    guard rendition.isMain else { return served.hlsViewers(of: rendition.name, at: now) }
    let others = rendition.stream.renditions.reduce(0) { $0 + served.hlsViewers(of: $1.name, at: now) }
    return max(0, served.viewers(of: .hls, at: now) - others)
  }

  /// Creates the entry of a started stream; ``serve(_:)`` serves it.
  package func makeServedStream(_ stream: LiveStream) -> ServedStream {
    ServedStream(
      stream, servedSince: MediaDuration(nanoseconds: self.clock.unixTime(at: self.clock.now())),
      viewerIdleTime: self.viewerIdleTime, eventLoop: self.group.next(), resuming: self.takeSuspended(stream.name))
  }

  /// Serves a stream under its name; the files of the first stream are also served without a name.
  ///
  /// - Parameter coversFaces: Whether the stream has privacy, so that segments of another process must not be shown.
  package func serve(_ served: ServedStream, coversFaces: () -> Bool = { false }) {
    // From here on it learns when privacy is switched on.
    served.stream.add(served.hls)
    served.hls.begin(discardsEarlier: coversFaces())
    self.streams.append(served)
  }

  /// Stops serving a stream: waiting requests are answered, and motion JPEG responses end.
  ///
  /// Its playlists, now with `EXT-X-ENDLIST`, and its segments are served for ten more target durations, at least
  /// ``HTTPServerLimits/viewerIdleTime`` (10 s, unless the source's keyframes are rare), so that HLS players can play to the end.
  package func stopServing(_ stream: LiveStream) {
    guard let served = self.streams.end(stream) else { return }
    stream.remove(served.hls)
    served.end()
    self.group.next().scheduleTask(in: .nanoseconds(served.hls.viewerTimes.retention.nanoseconds)) {
      [streams = self.streams] in streams.remove(served)
    }
  }

  /// Maximum number of bytes of ``suspend()``.
  package static var maximumSuspendedByteCount: Int { HLSSuspendedStreams.maximumByteCount }

  /// Stops the streams that have HLS players, for another process that continues them: playlists are not answered any more.
  ///
  /// - Returns: Bytes for ``resume(_:)`` there; nil without players.
  package func suspend() -> ByteBuffer? {
    let isProtected = self.policy.access.isWatchingProtected
    let all = self.streams.all
    // Each has the same share, and one share is for what is no media.
    let share = Self.maximumSuspendedByteCount / (all.count { $0.hls.hasConsumers } + 1)
    let streams = all.compactMap { served in
      served.hls.suspend(maximumByteCount: share).map {
        HLSSuspendedStreams.Stream(name: served.name, isProtected: isProtected, state: $0)
      }
    }
    guard !streams.isEmpty else { return nil }
    var bytes = ByteBuffer()
    let now = MediaDuration(nanoseconds: self.clock.unixTime(at: self.clock.now()))
    HLSSuspendedStreams(unixTime: now, streams: streams).serialize(into: &bytes)
    return bytes
  }

  /// Continues streams that another process has stopped, once streams of their names are served.
  ///
  /// - Throws: `ParsingError` for damaged bytes; where they are those of one stream, the others are continued.
  package func resume(_ bytes: ByteBuffer) throws(ParsingError) {
    let suspended = try HLSSuspendedStreams(parsing: bytes)
    self.suspended.withLock { $0 = suspended }
    self.group.next().scheduleTask(in: .nanoseconds(HLSSuspendedStreams.lifetime.nanoseconds)) { [weak self] in
      self?.suspended.withLock { $0 = nil }
    }
    if let problem = suspended.problems.first { throw problem }
  }

  /// The state of a stream that another process has stopped a moment ago; nil where there is none, or viewers without a password could see
  /// segments that were for those with one.
  private func takeSuspended(_ name: String) -> HLSStreamState? {
    let now = MediaDuration(nanoseconds: self.clock.unixTime(at: self.clock.now()))
    let isProtected = self.policy.access.isWatchingProtected
    return self.suspended.withLock { suspended in
      guard let index = suspended?.streams.firstIndex(where: { $0.name == name }), suspended?.isRecent(at: now) == true,
        let stream = suspended?.streams.remove(at: index), isProtected || !stream.isProtected
      else { return nil }
      return stream.state
    }
  }

  /// Waits until no HLS viewer is expected to fetch the end of a stream any more, at most a target duration and 0.3 s (4.3 s in all).
  package func waitForViewers() async {
    while true {
      let now = self.clock.now()
      guard self.streams.ended.contains(where: { $0.awaitsViewers(at: now) }) else { return }
      // `Task.sleep` returns at once in a cancelled task.
      try? await self.group.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
    }
  }
}

/// Viewers of one stream over HTTP, and bytes sent to them.
public struct HTTPStreamStatistics: Hashable, Sendable {
  /// HLS viewers: distinct pairs of client address and `User-Agent` in the last 10 seconds.
  public var hlsViewers = 0
  /// Motion JPEG responses that are open now, one for each viewer.
  public var motionJPEGViewers = 0
  /// Bytes of playlists, segments and JPEG images sent, without heads.
  public var bytesSent = 0

  /// Creates statistics; zero by default.
  public init(hlsViewers: Int = 0, motionJPEGViewers: Int = 0, bytesSent: Int = 0) {
    self.hlsViewers = hlsViewers
    self.motionJPEGViewers = motionJPEGViewers
    self.bytesSent = bytesSent
  }
}
