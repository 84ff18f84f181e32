public import Effects
public import Media

/// Consumer of a stream's samples: a packetizer, a segmenter, a file.
///
/// The stream's video thread and its audio thread call it; that of another rendition's encoder where it is added to that. Servers,
/// recorders and pushes add theirs:
///
/// ```swift
/// stream.add(output)     // calls descriptionChanged(to:), and consume(_:) for each sample that follows
/// stream.remove(output)
/// ```
public protocol StreamOutput: AnyObject, Sendable {
  /// Consumes one sample; called on the stream's own threads, one per kind, in decode order of each. Must return at
  /// once: samples that wait for a viewer or a disk belong in a bounded queue.
  func consume(_ sample: EncodedSample)

  /// Consumes the metadata that effects have attached to a frame; called on the video thread before the sample of that
  /// frame. Only while the stream has effects, and once more after the last one is removed.
  ///
  /// Must return at once.
  func consume(_ metadata: TimedFrameMetadata)

  /// Announces a new codec configuration for the samples that follow, from a keyframe on: passing through a source has
  /// begun or ended. ``LiveStream/descriptions`` holds it already.
  ///
  /// Called on the thread of that kind's samples, before the first of them; and with the current configurations when
  /// the output is added. Must return at once; an equal description must have no effect.
  func descriptionChanged(to description: CodecDescription)

  /// Discards everything that was consumed before and can still be fetched or sent: faces are private from now on, and
  /// earlier frames show them. The next frame is a keyframe.
  ///
  /// Called on any thread, also several times. Must return at once.
  func discardEarlier()

  /// Whether the output has consumers now: viewers, a file, another server. Called on any thread.
  ///
  /// While one WebRTC viewer is the only consumer of all outputs, the encoder follows that viewer's network. True by default.
  var hasConsumers: Bool { get }

  /// Called once after the last sample.
  func streamEnded()
}

extension StreamOutput {
  /// True: an output that does not know counts as a consumer.
  public var hasConsumers: Bool { true }

  /// Does nothing: for outputs that carry no metadata.
  public func consume(_ metadata: TimedFrameMetadata) {}

  /// Does nothing: for outputs that keep nothing, or only what was recorded on purpose.
  public func discardEarlier() {}

  /// Does nothing: for outputs whose receivers find parameter sets within the samples.
  public func descriptionChanged(to description: CodecDescription) {}
}

/// Metadata that effects have attached to a frame.
public struct TimedFrameMetadata: Hashable, Sendable {
  /// Capture time of the frame: the presentation time of its sample.
  public let timestamp: MediaTime
  /// Width of the frame in pixels, in which positions and sizes are given.
  public let width: Int
  /// Height of the frame in pixels.
  public let height: Int
  /// Faces and face events of the frame.
  public let metadata: FrameMetadata

  /// Combines metadata with the timestamp and size of its frame.
  public init(timestamp: MediaTime, width: Int, height: Int, metadata: FrameMetadata) {
    (self.timestamp, self.width, self.height, self.metadata) = (timestamp, width, height, metadata)
  }
}
