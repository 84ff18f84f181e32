import Codecs
import Media
import NIOCore
import TestSupport
import Testing

@Suite("H.264 encoder")
struct LibavH264EncoderTests {
  private let pool = VideoFramePool(format: VideoFormat(width: 320, height: 240))

  /// A frame of noise, which is expensive to encode.
  private func frame(_ index: Int) -> VideoFrame {
    var generator = SplitMix(seed: UInt64(index))
    let frame = self.pool.frame(at: FrameRate(30).time(ofFrame: Int64(index), from: .zero)) { buffer in
      for plane in 0..<3 {
        for offset in stride(from: 0, to: buffer.unsafePlane(plane).count - 8, by: 8) {
          buffer.unsafePlane(plane).storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
        }
      }
    }
    // The pool holds more frames than an encoder without latency retains.
    return frame!
  }

  private func settings(bitrate: Int = 500_000) -> VideoEncoderSettings {
    VideoEncoderSettings(width: 320, height: 240, frameRate: 30, bitrate: bitrate)
  }

  @Test func `each frame is encoded at once, with its own time, as length-prefixed NAL units`() throws {
    let encoder = try LibavH264Encoder(self.settings())
    for index in 0..<10 {
      var samples: [EncodedSample] = []
      try encoder.encode(ReleasedFrame(notPrivate: self.frame(index)), forcesKeyframe: false) { samples.append($0) }
      #expect(samples.count == 1)
      var payload = try #require(samples.first?.payload)
      #expect(samples[0].presentationTime == FrameRate(30).time(ofFrame: Int64(index), from: .zero))
      #expect(samples[0].isKeyframe == (index == 0))
      var slices = 0
      while let length = payload.readInteger(as: UInt32.self) {
        let slice = payload.readSlice(length: Int(length))
        let nalUnit = try #require(slice)
        let type = nalUnit.getInteger(at: nalUnit.readerIndex, as: UInt8.self)! & 0x1F
        #expect([1, 5, 6].contains(type))
        slices += type == 6 ? 0 : 1
      }
      #expect(slices == 1)
    }
  }

  @Test func `slices are as long as a packet at most, where that is set`() throws {
    var settings = self.settings(bitrate: 4_000_000)
    settings.profile = .baseline
    settings.maximumSliceLength = 1146
    let encoder = try LibavH264Encoder(settings)
    var lengths: [Int] = []
    for index in 0..<10 {
      try encoder.encode(ReleasedFrame(notPrivate: self.frame(index)), forcesKeyframe: index == 5) { sample in
        var payload = sample.payload
        while let length = payload.readInteger(as: UInt32.self) {
          lengths.append(Int(length))
          payload.moveReaderIndex(forwardBy: Int(length))
        }
      }
    }
    let maximum = try #require(lengths.max())
    #expect(maximum <= 1146 && maximum > 600 && lengths.count > 20)
    #expect(LibavH264Encoder.boundsSlices("libx264") && !LibavH264Encoder.boundsSlices("h264_v4l2m2m"))
  }

  @Test func `the parameter sets are known before the first frame`() throws {
    let description = try #require(try LibavH264Encoder(self.settings()).description)
    #expect(description.sequenceParameterSet.first.map { $0 & 0x1F } == 7)
    #expect(description.pictureParameterSet.first.map { $0 & 0x1F } == 8)
    #expect(description.width == 320 && description.height == 240)
  }

  @Test func `a forced keyframe is that very frame, and other keyframes come every two seconds`() throws {
    let encoder = try LibavH264Encoder(self.settings())
    var keyframes: [Int] = []
    for index in 0..<130 {
      try encoder.encode(ReleasedFrame(notPrivate: self.frame(index)), forcesKeyframe: index == 17) {
        if $0.isKeyframe { keyframes.append(index) }
      }
    }
    #expect(keyframes == [0, 17, 77])
  }

  @Test func `the bitrate is kept, and a change takes effect soon`() throws {
    let encoder = try LibavH264Encoder(self.settings(bitrate: 2_000_000))
    var bytes = [0, 0]
    for index in 0..<240 {
      if index == 120 { encoder.setBitrate(500_000) }
      try encoder.encode(ReleasedFrame(notPrivate: self.frame(index)), forcesKeyframe: false) {
        if index % 120 >= 60 { bytes[index / 120] += $0.payload.readableBytes }
      }
    }
    // Two seconds per rate, without the first two seconds of each.
    #expect((1_400_000...2_400_000).contains(bytes[0] * 8 / 2))
    #expect((350_000...700_000).contains(bytes[1] * 8 / 2))
  }

  @Test func `a missing encoder is an error that names the available ones`() {
    #expect {
      var settings = self.settings()
      settings.encoder = "h264_nowhere"
      _ = try LibavH264Encoder(settings)
    } throws: { error in
      guard let error = error as? VidiconError else { return false }
      return error.code == .notFound && error.nextStep.contains("libx264")
    }
  }

  @Test func `an encoder whose device is missing is reported as such`() {
    // No test machine has both a Raspberry Pi's encoder and a graphics card's.
    let names = ["h264_nvenc", "h264_v4l2m2m", "h264_vaapi"].filter(LibavH264Encoder.available.contains)
    var failures: [String] = []
    for name in names {
      var settings = self.settings()
      settings.encoder = name
      do throws(VidiconError) {
        _ = try LibavH264Encoder(settings)
      } catch {
        #expect(error.code == .unsupported && !error.cause.isEmpty, "\(name): \(error)")
        failures.append(name)
      }
    }
    #expect(!failures.isEmpty, "\(names) all have a device")
  }
}
