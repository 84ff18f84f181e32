import Capture
import Media
import MediaInput
import NIOCore
import RTP
import Threading

/// Counts the samples of a source.
final class SampleCounter: VideoConsumer {
  private let count = Monitor(0)

  func consume(_ frame: VideoFrame) {}
  func consume(_ sample: EncodedSample, of description: CodecDescription) { self.count.withLock { $0 += 1 } }
  func captureEnded(_ error: VidiconError?) {}

  /// Waits until this number of samples has come; false after a time that no busy machine needs.
  func wait(for number: Int) -> Bool {
    self.count.wait(until: StreamClock.system.now() + .seconds(300)) { $0 >= number ? true : nil } ?? false
  }
}

/// Media of a publisher: H.264 of one packet a frame.
enum PublishedFrames {
  static let key = "0123456789abcdef0123"

  /// A session description as ffmpeg writes it, of video alone: High profile, level 3.1, 1280×720.
  static let description = [
    "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=No Name", "t=0 0", "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
    "a=fmtp:96 packetization-mode=1; sprop-parameter-sets=Z2QAH6zZQFAFuwEQAAADABAAAAMDwPGDGWA=,aOvjyyLA",
    "a=control:streamid=0",
  ].map { $0 + "\r\n" }.joined()

  /// A request with the next number.
  static func request(_ line: String, _ headers: [String] = [], body: String = "") -> String {
    let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
    return ([line + " RTSP/1.0", "CSeq: 1"] + headers + length).map { $0 + "\r\n" }.joined() + "\r\n" + body
  }

  static func announce(_ url: String) -> String {
    Self.request("ANNOUNCE \(url)", ["Content-Type: application/sdp"], body: Self.description)
  }

  static func setUp(_ transport: String) -> String {
    Self.request("SETUP rtsp://h/live/streamid=0", ["Transport: \(transport);mode=record"])
  }

  static let record = Self.request("RECORD rtsp://h/live")

  /// The packet of a frame, the first of which is a keyframe.
  static func packet(_ index: Int) -> ByteBuffer {
    var buffer = ByteBuffer()
    RTPPacket(
      header: RTPHeader(
        marker: true, payloadType: 96, sequenceNumber: UInt16(index), timestamp: UInt32(3_000 * index), ssrc: 5),
      payload: ByteBuffer(bytes: [index == 0 ? 0x65 : 0x41, 0x80])
    ).serialize(into: &buffer)
    return buffer
  }
}
