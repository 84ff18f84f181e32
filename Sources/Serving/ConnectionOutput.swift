package import Authentication
package import Media
package import NIOCore
package import Streaming

/// Turns the samples of a stream into bytes that are the same for every viewer, as those of a connection can be.
package protocol ConnectionPacketizer: SharedMediaPacketizer where Packets == SharedBytes {
  /// Creates a packetizer of a stream's tracks.
  init(_ descriptions: [CodecDescription])
  /// Replaces the description of a track, from the next keyframe on.
  mutating func change(to description: CodecDescription)
}

/// A rendition's output to viewers that all get the same bytes over their connections: packetizes each sample once and fans the bytes
/// out to the viewers of every event loop. ``MediaConnection/play(_:of:)`` adds one.
///
/// ``OutputDirectory`` makes it. The encoder's threads pass it samples, connections join on their event loops. That of RTMP is all that its
/// server has between encoder and sockets:
///
/// ```swift
/// package typealias RTMPDirectory = OutputDirectory<ConnectionOutput<RTMPStreamPacketizer>>
/// ```
package final class ConnectionOutput<Packetizer: ConnectionPacketizer>: ServedOutput {
  package let rendition: Rendition
  private let hasVideo: Bool
  private let broadcast: Broadcast<Packetizer, ConnectionSender>
  private let onEnd: @Sendable (ConnectionOutput) -> Void

  /// Creates the output of a rendition with these tracks.
  init(_ rendition: Rendition, _ descriptions: [CodecDescription], in directory: OutputDirectory<ConnectionOutput>) {
    self.rendition = rendition
    self.hasVideo = descriptions.contains { $0.kind == .video }
    self.onEnd = directory.onEnd
    self.broadcast = Broadcast(
      packetizer: Packetizer(descriptions), frameRate: descriptions.frameRate, eventLoops: directory.eventLoops,
      counters: ViewerCounters(refusals: directory.refusals), keepsKeyframeGroup: false,
      makeSender: { _ in ConnectionSender() }, requestKeyframe: { rendition.requestKeyframe() })
  }

  /// Counters of the viewers, and the maximum lag of the event loops.
  package var statistics: ViewerStatistics { self.broadcast.statistics }

  package var hasConsumers: Bool { self.broadcast.hasViewers }

  package func consume(_ sample: EncodedSample) {
    self.broadcast.consume(sample)
  }

  package func descriptionChanged(to description: CodecDescription) {
    self.broadcast.change { $0.change(to: description) }
  }

  /// Drops video that waits for an event loop, and disconnects viewers whose connections have data to send: it cannot be
  /// taken out.
  package func discardEarlier() {
    self.broadcast.discardEarlier { group in
      for viewer in group.viewers { viewer.discardEarlier() }
    }
  }

  package func streamEnded() {
    self.broadcast.flush()
    self.onEnd(self)
  }

  /// Makes a viewer that is sent its media by a connection; called on the connection's event loop.
  fileprivate func makeViewer(_ connection: MediaConnection) -> ConnectionViewer {
    ConnectionViewer(
      self.rendition, hasVideo: self.hasVideo, connection: connection,
      group: self.broadcast.group(on: connection.eventLoop), counters: self.broadcast.counters)
  }
}

extension OutputDirectory {
  /// Creates a directory without streams, whose viewers all get the same bytes over their connections.
  package convenience init<Packetizer>(eventLoops: [any EventLoop], refusals: RefusalCounters = RefusalCounters())
  where Output == ConnectionOutput<Packetizer> {
    self.init(eventLoops: eventLoops, refusals: refusals) { ConnectionOutput($1, $2, in: $0) }
  }
}

extension MediaConnection {
  /// Sends the client the media of an output from now on, until the connection or the rendition ends, or ``stopPlaying()``; called
  /// once until that, and without effect after the end of the connection. A rendition that has ended since its output was found ends at once, see ``renditionEnded(_:)``.
  ///
  /// - Parameter output: One that `directory` has found.
  package final func play<Packetizer>(
    _ output: ConnectionOutput<Packetizer>, of directory: OutputDirectory<ConnectionOutput<Packetizer>>
  ) {
    guard self.context != nil else { return }
    let viewer = output.makeViewer(self)
    self.viewer = viewer
    guard directory.output(of: output.rendition) === output else { return self.renditionEnded(output.rendition) }
    self.prepareForMedia(bitrate: output.rendition.bitrate)
    viewer.join()
    self.beginVisit(of: output.requested)
  }

  /// Ends what ``play(_:of:)`` has begun.
  package final func stopPlaying() {
    guard let viewer = self.viewer as? ConnectionViewer else { return }
    self.viewer = nil
    viewer.leave()
    self.endVisit()
  }
}
