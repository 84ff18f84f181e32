internal import Bitstreams
package import Media
package import NIOCore
package import RTP

/// RTP payloads of one access unit or audio frame: the plaintext that all viewers share. Each viewer's packets have headers of
/// their own, and are sealed from here.
package final class WebRTCMedia: Sendable {
  /// Maximum length of a payload in bytes, so that datagrams have at most 1200:
  /// `1200 - 12 (header) - 24 (extensions) - 16 (tag) - 2 (number of a retransmitted packet)`.
  package static let maximumPayloadLength = 1200 - 12 - 24 - 16 - 2

  /// Track of the media: video or audio.
  package let kind: MediaKind
  /// Whether decoding can start here.
  package let isKeyframe: Bool
  /// Presentation time on the stream's clock.
  package let presentationTime: MediaTime
  /// Length of all payloads in bytes.
  package let byteCount: Int
  private let bytes: ByteBuffer
  private let payloads: [Range<Int>]

  /// Creates media of payloads that are within a buffer.
  ///
  /// - Parameter payloads: Ranges of readable bytes, at least one.
  package init(
    kind: MediaKind, isKeyframe: Bool, presentationTime: MediaTime, bytes: ByteBuffer, payloads: [Range<Int>]
  ) {
    precondition(
      !payloads.isEmpty
        && payloads.allSatisfy { $0.upperBound <= bytes.readableBytes && $0.count <= Self.maximumPayloadLength })
    self.kind = kind
    self.isKeyframe = isKeyframe
    self.presentationTime = presentationTime
    self.bytes = bytes
    self.payloads = payloads
    self.byteCount = payloads.reduce(0) { $0 + $1.count }
  }

  /// The same media at another time, without a copy of the bytes.
  func moved(to time: MediaTime) -> WebRTCMedia {
    WebRTCMedia(
      kind: self.kind, isKeyframe: self.isKeyframe, presentationTime: time, bytes: self.bytes, payloads: self.payloads)
  }

  /// Number of packets for each viewer, at least one.
  package var packetCount: Int { self.payloads.count }

  /// Length of a payload, in bytes.
  package func payloadLength(_ index: Int) -> Int { self.payloads[index].count }

  /// Calls `body` with a payload.
  func withPayload<Result, Failure: Error>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let range = self.payloads[index]
    let result = self.bytes.withUnsafeReadableBytes { bytes -> Swift.Result<Result, Failure> in
      do throws(Failure) {
        return .success(try body(UnsafeRawBufferPointer(rebasing: bytes[range])))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// Packetizes the samples of a stream once for all its WebRTC viewers: H.264, RFC 6184 in packetization mode 1, or 0.
package struct WebRTCPacketizer: Sendable {
  private let mode: H264PacketizationMode
  private var video: H264Packetizer?

  /// A packetizer for the tracks of a stream; those that WebRTC does not carry are left out.
  package init(_ descriptions: [CodecDescription], mode: H264PacketizationMode = .nonInterleaved) {
    self.mode = mode
    for description in descriptions { self.change(to: description) }
  }

  /// The parameter sets of the video track; nil without one.
  package var videoDescription: H264Description? { self.video?.description }

  /// Replaces the description of a track.
  package mutating func change(to description: CodecDescription) {
    guard case .h264(let video) = description else { return }
    guard self.video == nil else {
      self.video?.description = video
      return
    }
    // Numbers and times are those of each viewer: here all are 0.
    self.video = H264Packetizer(
      description: video,
      sequence: RTPSenderState(
        ssrc: 0, payloadType: 0, clockRate: H264Packetizer.clockRate, timestampOffset: 0, firstSequenceNumber: 0),
      maximumPayloadLength: WebRTCMedia.maximumPayloadLength, mode: self.mode)
  }

  /// The packet of Opus audio, RFC 7587 §4.2; nil when it does not fit.
  package static func packetize(opus sample: EncodedSample) -> WebRTCMedia? {
    let length = sample.payload.readableBytes
    guard (1...WebRTCMedia.maximumPayloadLength).contains(length) else { return nil }
    return WebRTCMedia(
      kind: .audio, isKeyframe: true, presentationTime: sample.presentationTime, bytes: sample.payload.slice(),
      payloads: [0..<length])
  }

  /// Packetizes a sample; nil when it is malformed, or of a track that WebRTC does not carry.
  package mutating func packetize(_ sample: EncodedSample) -> WebRTCMedia? {
    // Only samples passed through from a source can be malformed, and those of bounded slices fit; the result is one lost frame.
    guard sample.kind == .video, let batch = try? self.video?.packetize(sample), !batch.isEmpty else { return nil }
    var payloads: [Range<Int>] = []
    var position = 0
    for length in batch.packetLengths {
      payloads.append(position + RTPHeader.fixedLength..<position + length)
      position += length
    }
    return WebRTCMedia(
      kind: .video, isKeyframe: sample.isKeyframe, presentationTime: sample.presentationTime, bytes: batch.datagrams(),
      payloads: payloads)
  }
}
