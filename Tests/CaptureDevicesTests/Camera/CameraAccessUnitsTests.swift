import Media
import NIOCore
import Testing

@testable import CaptureDevices

/// The parameter sets are those of x264 for 64×48 (Baseline, made with `ffmpeg -f lavfi -i testsrc=size=64x48`).
@Suite("Access units of an H.264 camera")
struct CameraAccessUnitsTests {
  private static let sps = Self.unit(TestParameterSets.sps)
  private static let pps = Self.unit(TestParameterSets.pps)
  private static let keyframe = Self.unit([0x65, 0x88, 0x80, 0x10])
  private static let delta = Self.unit([0x41, 0x9A, 0x20, 0x30])

  private static func unit(_ bytes: [UInt8]) -> [UInt8] {
    [0, 0, 0, 1] + bytes
  }

  /// The outcome of each buffer: "key" and "delta" for samples, "sets" for parameter sets, "no" for unusable ones.
  private func outcomes(_ buffers: [[UInt8]], lossBefore: Int? = nil) -> [String] {
    var units = CameraAccessUnits(frameRate: 30)
    return buffers.enumerated().map { index, bytes in
      if index == lossBefore { _ = units.handleLoss() }
      switch units.sample(parsing: ByteBuffer(bytes: bytes), at: MediaTime(nanoseconds: Int64(index))) {
      case .sample(let sample, let description):
        #expect(description.width == 64 && description.height == 48)
        #expect(sample.presentationTime.nanoseconds == Int64(index))
        return sample.isKeyframe ? "key" : "delta"
      case .parameterSets: return "sets"
      case .unusable: return "no"
      }
    }
  }

  @Test func `parameter sets may come with the keyframe, before it, or once`() {
    let whole = Self.sps + Self.pps + Self.keyframe
    #expect(self.outcomes([whole, Self.delta, whole]) == ["key", "delta", "key"])
    #expect(self.outcomes([Self.sps + Self.pps, Self.keyframe, Self.delta]) == ["sets", "key", "delta"])
    #expect(self.outcomes([Self.sps, Self.pps, Self.keyframe]) == ["sets", "sets", "key"])
    #expect(self.outcomes([whole, Self.keyframe]) == ["key", "key"])
  }

  @Test func `access units before the first keyframe and its parameter sets are unusable`() {
    #expect(self.outcomes([Self.delta, Self.keyframe]) == ["no", "no"])
    #expect(
      self.outcomes([Self.sps + Self.pps, Self.delta, Self.keyframe, Self.delta])
        == ["sets", "no", "key", "delta"])
  }

  @Test func `after a loss access units are unusable until the next keyframe`() {
    let whole = Self.sps + Self.pps + Self.keyframe
    #expect(
      self.outcomes([whole, Self.delta, Self.delta, whole, Self.delta], lossBefore: 2)
        == ["key", "delta", "no", "key", "delta"])
  }

  @Test func `changed parameter sets take effect at a keyframe`() {
    let whole = Self.sps + Self.pps + Self.keyframe
    let other = Self.unit(TestParameterSets.sps) + Self.unit(TestParameterSets.otherPPS)
    #expect(self.outcomes([whole, other, Self.delta, Self.keyframe]) == ["key", "sets", "no", "key"])
    // Repeated parameter sets have no effect.
    #expect(self.outcomes([whole, Self.sps + Self.pps, Self.delta]) == ["key", "sets", "delta"])
  }

  @Test(arguments: [[], [0], [0, 0, 1], [0, 0, 0, 1, 0x67], [1, 2, 3, 4], [0, 0, 1, 0x68]] as [[UInt8]])
  func `bytes that are not an access unit are ignored`(bytes: [UInt8]) {
    let whole = Self.sps + Self.pps + Self.keyframe
    #expect(["no", "sets"].contains(self.outcomes([bytes])[0]))
    #expect(self.outcomes([whole, bytes, Self.delta]).last == "delta")
  }

  @Test func `every prefix of an access unit has an outcome`() {
    let whole = Self.sps + Self.pps + Self.keyframe
    for count in 0...whole.count { #expect(self.outcomes([Array(whole.prefix(count))]).count == 1) }
  }
}

/// Parameter sets of a 64×48 stream.
private enum TestParameterSets {
  static let sps: [UInt8] = [
    0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04, 0x7B, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0,
    0xF1, 0x22, 0x64, 0x80,
  ]
  static let pps: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
  /// With another chroma_qp_index_offset (`-x264-params chroma-qp-offset=5`).
  static let otherPPS: [UInt8] = [0x68, 0xCB, 0x83, 0xCD, 0x20]
}
