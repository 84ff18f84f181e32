internal import CLibav
internal import Codecs

/// Decoders of a file's track: that of its stream, and those of streams that replace it. Each decodes its packets to the last one before
/// the next one begins.
///
/// Used by one thread at a time.
final class DecoderSequence {
  private struct Part {
    let decoder: PacketDecoder
    /// Called before the first packet is decoded.
    let begin: () -> Void
  }

  /// Never empty: the first one decodes, and packets are appended to the last one.
  private var parts: [Part]
  /// Counters of the decoders that have ended.
  private var ended = (corrupt: 0, frames: 0)
  private var startsAnywhere = false

  /// Each may have threads.
  private static let maximumPartCount = 16

  init(_ decoder: PacketDecoder) {
    self.parts = [Part(decoder: decoder) {}]
  }

  /// The decoder of the packets that are decoded next.
  var current: PacketDecoder { self.parts[0].decoder }

  private var last: PacketDecoder { self.parts[self.parts.count - 1].decoder }

  /// Number of packets and frames that could not be decoded.
  var corruptCount: Int { self.parts.reduce(self.ended.corrupt) { $0 + $1.decoder.corruptCount } }

  /// Number of decoded frames.
  var frameCount: Int { self.parts.reduce(self.ended.frames) { $0 + $1.decoder.frameCount } }

  /// Whether no packet is queued.
  var isEmpty: Bool { self.parts.allSatisfy(\.decoder.isEmpty) }

  /// Whether no more packets should be read: a span in nanoseconds, 64 MiB, 8192 packets or 16 decoders are queued.
  func isFull(span: Int64) -> Bool {
    if self.parts.count >= Self.maximumPartCount { return true }
    let byteCount = self.parts.reduce(0) { $0 + $1.decoder.byteCount }
    let packetCount = self.parts.reduce(0) { $0 + $1.decoder.packetCount }
    if byteCount >= 64 << 20 || packetCount >= 8_192 { return true }
    // The parts are on one timeline.
    guard let first = self.parts.lazy.compactMap({ $0.decoder.firstQueuedTime }).first,
      let last = self.parts.reversed().lazy.compactMap({ $0.decoder.lastQueuedTime }).first
    else { return false }
    return last - first >= span
  }

  /// Enqueues the content of a packet, which is empty afterwards.
  func append(_ packet: UnsafeMutablePointer<AVPacket>) { self.last.append(packet) }

  /// Enqueues the end of a pass.
  func appendEnd() { self.last.appendEnd() }

  /// Enqueues the end of the stream, and the decoder of the packets that follow.
  ///
  /// - Parameter begin: Called before the first of them is decoded.
  func append(_ decoder: PacketDecoder, begin: @escaping () -> Void = {}) {
    if self.startsAnywhere { decoder.startAnywhere() }
    self.last.appendEnd()
    self.parts.append(Part(decoder: decoder, begin: begin))
  }

  /// Discards all queued packets and delayed frames; the last decoder goes on.
  func reset() {
    while self.parts.count > 1 { self.endFirst() }
    self.current.reset()
  }

  /// Whether packets before a first keyframe were skipped, and none was decoded.
  var hasOnlySkipped: Bool {
    self.frameCount == 0 && !self.startsAnywhere && self.parts.contains(where: \.decoder.hasOnlySkipped)
  }

  /// Decodes from any packet on: there is no keyframe.
  func startAnywhere() {
    self.startsAnywhere = true
    for part in self.parts { part.decoder.startAnywhere() }
  }

  /// Decodes the next packet; see ``PacketDecoder/decodeNext(_:)``.
  func decodeNext(_ body: (UnsafeMutablePointer<AVFrame>) -> Void) -> Bool {
    while self.parts.count > 1, self.current.isEmpty { self.endFirst() }
    return self.current.decodeNext(body)
  }

  private func endFirst() {
    let decoder = self.parts.removeFirst().decoder
    self.ended.corrupt += decoder.corruptCount
    self.ended.frames += decoder.frameCount
    self.parts[0].begin()
  }
}
