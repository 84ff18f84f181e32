import Media
import NIOCore
import Testing

@testable import CaptureDevices

/// The parameter sets are those of x264 for 64×48 (Baseline, made with `ffmpeg -f lavfi -i testsrc=size=64x48`).
@Suite("Access units of an H.264 camera")
struct CameraAccessUnitsTests {
  private static let sequence = Self.unit(TestParameterSets.sequence)
  private static let picture = Self.unit(TestParameterSets.picture)
  private static let keyframe = Self.unit([0x65, 0x88, 0x80, 0x10])
  private static let delta = Self.unit([0x41, 0x9A, 0x20, 0x30])

  private static func unit(_ bytes: [UInt8]) -> [UInt8] {
    [0, 0, 0, 1] + bytes
  }

  /// What becomes of buffers: "key" and "delta" samples, "sets", "no".
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

  @Test func `parameter sets with the keyframe, before it, or once`() {
    let whole = Self.sequence + Self.picture + Self.keyframe
    #expect(self.outcomes([whole, Self.delta, whole]) == ["key", "delta", "key"])
    #expect(self.outcomes([Self.sequence + Self.picture, Self.keyframe, Self.delta]) == ["sets", "key", "delta"])
    #expect(self.outcomes([Self.sequence, Self.picture, Self.keyframe]) == ["sets", "sets", "key"])
    #expect(self.outcomes([whole, Self.keyframe]) == ["key", "key"])
  }

  @Test func `nothing is shown before the first keyframe and its parameter sets`() {
    #expect(self.outcomes([Self.delta, Self.keyframe]) == ["no", "no"])
    #expect(
      self.outcomes([Self.sequence + Self.picture, Self.delta, Self.keyframe, Self.delta])
        == ["sets", "no", "key", "delta"])
  }

  @Test func `after a loss it goes on with a keyframe`() {
    let whole = Self.sequence + Self.picture + Self.keyframe
    #expect(
      self.outcomes([whole, Self.delta, Self.delta, whole, Self.delta], lossBefore: 2)
        == ["key", "delta", "no", "key", "delta"])
  }

  @Test func `other parameter sets take effect with a keyframe`() {
    let whole = Self.sequence + Self.picture + Self.keyframe
    let other = Self.unit(TestParameterSets.sequence) + Self.unit(TestParameterSets.otherPicture)
    #expect(self.outcomes([whole, other, Self.delta, Self.keyframe]) == ["key", "sets", "no", "key"])
    // The same again change nothing.
    #expect(self.outcomes([whole, Self.sequence + Self.picture, Self.delta]) == ["key", "sets", "delta"])
  }

  @Test(arguments: [[], [0], [0, 0, 1], [0, 0, 0, 1, 0x67], [1, 2, 3, 4], [0, 0, 1, 0x68]] as [[UInt8]])
  func `what is no access unit is left out`(bytes: [UInt8]) {
    let whole = Self.sequence + Self.picture + Self.keyframe
    #expect(["no", "sets"].contains(self.outcomes([bytes])[0]))
    #expect(self.outcomes([whole, bytes, Self.delta]).last == "delta")
  }

  @Test func `every prefix is taken`() {
    let whole = Self.sequence + Self.picture + Self.keyframe
    for count in 0...whole.count { #expect(self.outcomes([Array(whole.prefix(count))]).count == 1) }
  }
}

/// Of a picture of 64×48.
private enum TestParameterSets {
  static let sequence: [UInt8] = [
    0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04, 0x7B, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0,
    0xF1, 0x22, 0x64, 0x80,
  ]
  static let picture: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
  /// With another chroma_qp_index_offset (`-x264-params chroma-qp-offset=5`).
  static let otherPicture: [UInt8] = [0x68, 0xCB, 0x83, 0xCD, 0x20]
}
