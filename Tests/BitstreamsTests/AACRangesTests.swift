import Bitstreams
import Media
import NIOCore
import Testing

@Suite("AAC configurations and headers over their ranges")
struct AACRangesTests {
  /// ISO/IEC 14496-3 table 1.18.
  private static let frequencies = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  private static func bytes(_ header: ADTSHeader) -> [UInt8] {
    var buffer = ByteBuffer()
    header.serialize(into: &buffer)
    return Array(buffer.readableBytesView)
  }

  @Test(arguments: frequencies.enumerated().map { ($0.offset, $0.element) })
  func `each frequency of the table has its index in both headers`(index: Int, frequency: Int) throws {
    for channels in [1, 2, 6, 8] {
      let format = AudioFormat(sampleRate: frequency, channelCount: channels)
      let config = try #require(AudioSpecificConfig(format: format))
      let bytes = config.serialize()
      #expect(bytes.count == 2 && Int(bytes[0] & 0b111) << 1 | Int(bytes[1] >> 7) == index)
      let parsed = try AudioSpecificConfig(parsing: bytes)
      #expect(parsed == config && parsed.format == format)
      let header = try #require(ADTSHeader(config, payloadLength: 100))
      #expect(Int(Self.bytes(header)[2] >> 2 & 0b1111) == index)
      var buffer = ByteBuffer(bytes: Self.bytes(header))
      #expect(try ADTSHeader(parsing: &buffer) == header && buffer.readableBytes == 0)
    }
  }

  @Test(arguments: [1, 7_349, 44_056, 96_001, 192_000, (1 << 24) - 1])
  func `other frequencies are written in full, and have no ADTS header`(frequency: Int) throws {
    let config = try #require(AudioSpecificConfig(format: AudioFormat(sampleRate: frequency, channelCount: 2)))
    let bytes = config.serialize()
    #expect(bytes.count == 5)
    #expect(try AudioSpecificConfig(parsing: bytes) == config)
    #expect(ADTSHeader(config, payloadLength: 10) == nil)
  }

  @Test func `every configuration of the core survives, with and without its extension`() throws {
    var config = try #require(AudioSpecificConfig(format: AudioFormat(sampleRate: 24_000, channelCount: 1)))
    for objectType in UInt8(1)...4 {
      for channels in UInt8(1)...7 {
        for samples in [960, 1024] {
          config.audioObjectType = objectType
          config.channelConfiguration = channels
          config.samplesPerFrame = samples
          for isBackwardCompatible in [nil, true, false] as [Bool?] {
            for (frequency, hasParametricStereo) in [(48_000, false), (48_000, true), (47_999, true)] {
              config.spectralBandReplication = isBackwardCompatible.map {
                .init(
                  samplingFrequency: frequency, hasParametricStereo: hasParametricStereo, isBackwardCompatible: $0)
              }
              #expect(try AudioSpecificConfig(parsing: config.serialize()) == config)
            }
          }
        }
      }
    }
  }

  @Test func `every field of an ADTS header survives at the ends of its range`() throws {
    let config = try #require(AudioSpecificConfig(format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
    var header = try #require(ADTSHeader(config, payloadLength: 0))
    for (objectType, channels) in [(1, 0), (2, 1), (3, 6), (4, 7)] as [(UInt8, UInt8)] {
      for (payloadLength, fullness, blocks) in [(0, 0, 1), (1, 1, 2), (8182, 0x7FF, 4)] as [(Int, UInt16, Int)] {
        for crc in [nil, 0, 0xFFFF] as [UInt16?] {
          for isMPEG2 in [false, true] {
            header.audioObjectType = objectType
            header.channelConfiguration = channels
            (header.payloadLength, header.bufferFullness, header.rawDataBlockCount) = (payloadLength, fullness, blocks)
            (header.crc, header.isMPEG2) = (crc, isMPEG2)
            var buffer = ByteBuffer(bytes: Self.bytes(header) + [0xAA])
            #expect(try ADTSHeader(parsing: &buffer) == header)
            #expect(buffer.readableBytes == 1 && Self.bytes(header).count == header.length)
          }
        }
      }
    }
  }

  @Test func `no three bytes trap a parser of a configuration`() {
    for first in UInt8.min...UInt8.max {
      for second in stride(from: UInt8(0), through: 255, by: 5) {
        for third in [UInt8(0), 0x56, 0xFF] {
          guard let config = try? AudioSpecificConfig(parsing: [first, second, third, 0xE5, 0x98, 0x00]) else {
            continue
          }
          #expect((1...4).contains(config.audioObjectType) && (1...7).contains(config.channelConfiguration))
          #expect(config.samplingFrequency > 0)
          let again = try? AudioSpecificConfig(parsing: config.serialize())
          #expect(again == config)
        }
      }
    }
  }
}
