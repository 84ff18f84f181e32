internal import Bitstreams
internal import CaptureDevices
internal import Media
internal import MediaInput
internal import NIOCore

/// Checks of packets that devices and network sources deliver: H.264 of cameras and demuxers, AAC of demuxers.
struct PacketFuzzCase {
  private var input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// The first byte has options, packets with a 16-bit length follow; the first one is the track's extradata.
  mutating func run() {
    guard let options: UInt8 = self.input.readInteger() else { return }
    let extradata = self.input.readLengthPrefixedSlice(as: UInt16.self).map { Array($0.readableBytesView) } ?? []
    var packets: [ByteBuffer] = []
    while packets.count < 64, let packet = self.input.readLengthPrefixedSlice(as: UInt16.self) {
      packets.append(packet)
    }
    switch options & 3 {
    case 0: Self.checkDemuxedVideo(packets, extradata: extradata, flags: options >> 2)
    case 1: Self.checkDemuxedAudio(packets, extradata: extradata)
    default: Self.checkCamera(packets, losesOne: options & 4 != 0)
    }
  }

  /// A sample is whole NAL units of an access unit, and the first one is a keyframe.
  private static func checkDemuxedVideo(_ packets: [ByteBuffer], extradata: [UInt8], flags: UInt8) {
    var reader = H264PacketReader(extradata: extradata, frameRate: FrameRate(25))
    var isFirst = true
    for (index, packet) in packets.enumerated() {
      let time = MediaTime.zero + .milliseconds(Int64(index) * 40)
      let isKeyframe = flags & UInt8(1 << (index % 6)) != 0
      let times = SourceTimeline.Times(decode: time, presentation: time)
      guard
        case .sample(let sample, let description) = reader.read(
          packet, isKeyframe: isKeyframe, times: times, duration: nil)
      else { continue }
      precondition(!isFirst || sample.isKeyframe, "decoding starts at a keyframe")
      isFirst = false
      precondition(sample.duration > .zero && sample.decodeTime == time, "times are the packet's")
      Self.check(sample, of: description)
    }
  }

  private static func checkDemuxedAudio(_ packets: [ByteBuffer], extradata: [UInt8]) {
    let reader = AACPacketReader(extradata: extradata)
    for packet in packets {
      guard let audio = reader.read(packet) else { continue }
      precondition((1...2).contains(audio.description.format.channelCount), "every output supports the channels")
      precondition(audio.payload.readableBytes <= packet.readableBytes, "a payload is part of its packet")
      precondition((try? AudioSpecificConfig(parsing: audio.description.audioSpecificConfig)) != nil)
    }
  }

  private static func checkCamera(_ packets: [ByteBuffer], losesOne: Bool) {
    var units = CameraAccessUnits(frameRate: FrameRate(30))
    var needsKeyframe = true
    for (index, packet) in packets.enumerated() {
      if losesOne, index == packets.count / 2 {
        _ = units.handleLoss()
        needsKeyframe = true
      }
      guard case .sample(let sample, let description) = units.sample(parsing: packet, at: .zero) else { continue }
      precondition(!needsKeyframe || sample.isKeyframe, "decoding starts at a keyframe")
      needsKeyframe = false
      Self.check(sample, of: .h264(description))
    }
  }

  private static func check(_ sample: EncodedSample, of description: CodecDescription) {
    guard case .h264(let video) = description else { preconditionFailure("video") }
    precondition(video.width > 0 && video.height > 0 && video.frameRate.framesPerSecond > 0)
    guard let unit = try? H264AccessUnit(parsingAVCC: sample.payload) else { preconditionFailure("lengths fit") }
    precondition(unit.payload.readableBytes > 0 && unit.isKeyframe == sample.isKeyframe)
  }
}
