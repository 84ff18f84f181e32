internal import Foundation

/// AAC-LC 5.1 whose channels a program config element describes (`channelConfiguration` 0), ISO/IEC 14496-3 §4.5.1.2: 440 Hz in the
/// left front channel, 880 Hz in the right one, and silence in the others.
package struct SurroundAudio {
  /// The `AudioSpecificConfig`.
  package let configuration: [UInt8]
  /// Frames of 1024 samples at 48 kHz: 0.85 s.
  package let frames: [[UInt8]]

  /// Reads the bodies of the audio tags of a file in FLV, Annex E.4 of the Flash Video File Format Specification 10.1.
  package init() throws {
    let path = try TestMedia.path(
      "surround.flv",
      [
        "-f", "lavfi", "-i", "aevalsrc='0.3*sin(2*PI*440*t)|0.3*sin(2*PI*880*t)|0|0|0|0':c=5.1:s=48000:d=1",
        "-c:a", "aac", "-aac_pce", "1", "-b:a", "256k",
      ])
    let file = [UInt8](try Data(contentsOf: URL(filePath: path)))
    var bodies: [[UInt8]] = []
    // The header of the file, and the length of no tag before the first.
    var position = 9 + 4
    while position + 11 <= file.count {
      let length = file[(position + 1)...(position + 3)].reduce(0) { $0 << 8 | Int($1) }
      let body = file[(position + 11)...].prefix(length)
      if file[position] == 8 { bodies.append(Array(body)) }
      position += 11 + length + 4
    }
    guard let first = bodies.first, first.starts(with: [0xAF, 0]) else {
      throw TestMedia.Failure(description: "no configuration of AAC in \(path)")
    }
    self.configuration = Array(first.dropFirst(2))
    self.frames = bodies.dropFirst().prefix(40).map { Array($0.dropFirst(2)) }
    // Object type 2, 48 kHz, and 0 for the channels.
    guard self.frames.count == 40, self.configuration.starts(with: [0x11, 0x80]) else {
      throw TestMedia.Failure(description: "no program config element in \(path)")
    }
  }
}
