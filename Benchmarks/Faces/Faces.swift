import CAllocations
import Effects
import Foundation
import Media

/// Applies effects to frames, for `faces.py`: `FacesBenchmark EFFECT,EFFECT… WIDTH HEIGHT RATE [FILE]`, with I420 frames on
/// standard input. The results are written to standard output, and a line of JSON about each frame to the file.
///
/// After a first argument `paced`, the frames are processed at their frame rate. After `cost`, the only output is one
/// line of JSON: the cost of the effects while the frames come at their frame rate.
@main
struct Faces {
  static func main() throws {
    var arguments = CommandLine.arguments.dropFirst()
    let (isCost, isPaced) = (arguments.first == "cost", arguments.first == "paced")
    if isCost || isPaced { arguments = arguments.dropFirst() }
    let words = Array(arguments)
    guard words.count >= 4, let width = Int(words[1]), let height = Int(words[2]), let rate = Double(words[3]) else {
      FileHandle.standardError.write(
        Data("usage: FacesBenchmark [paced | cost] EFFECT,EFFECT… WIDTH HEIGHT RATE [METADATA-FILE]\n".utf8))
      exit(64)
    }
    let chain = EffectChain(try words[0].split(separator: ",").flatMap { try Self.effects(String($0)) })
    let input = FrameInput(width: width, height: height, rate: rate)
    if isCost {
      try Cost.measure(chain, input)
    } else {
      try Self.filter(chain, input, metadata: words.count > 4 ? words[4] : "/dev/null", isPaced: isPaced)
    }
  }

  private static func effects(_ name: String) throws -> [any VideoEffect] {
    switch name {
    case "track": return [try FaceTracker()]
    case "track-every": return [try FaceTracker(settings: .init(detection: .everyFrame))]
    case "track-every-down": return [try FaceTracker(settings: .init(detection: .everyFrame, orientation: .down))]
    case "privacy": return [try PrivacyMask(models: FaceModels())]
    case "oval": return [FaceMask(style: .oval())]
    case "blur": return [FaceMask(style: .blur)]
    case "pixelate": return [FaceMask(style: .pixelate)]
    case "solid": return [FaceMask(style: .solid())]
    case "boxes": return [FaceBoxes()]
    case "smooth": return [SkinSmoothing(strength: 1)]
    case "none": return []
    default:
      // An image, and the part of the face that it covers: eyes=glasses.png
      let words = name.split(separator: "=", maxSplits: 1).map(String.init)
      guard words.count == 2, let part = FaceMask.Part(rawValue: words[0]) else {
        throw Unknown(effect: name)
      }
      return [FaceMask(style: .image(try OverlayImage(path: words[1])), part: part)]
    }
  }

  private struct Unknown: Error { var effect: String }

  private static func filter(_ chain: EffectChain, _ input: FrameInput, metadata path: String, isPaced: Bool) throws {
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let metadata = try FileHandle(forWritingTo: URL(filePath: path))
    var index = 0
    var begin = ContinuousClock.now
    while let buffer = input.next() {
      if index == 0 { begin = .now }
      let early = begin + .seconds(input.time(of: index).seconds) - .now
      if isPaced, early > .zero { usleep(UInt32(early / .microseconds(1))) }
      var frame = EffectFrame(buffer: buffer, timestamp: input.time(of: index), budget: .seconds(10))
      let outcome = chain.process(&frame, now: { .zero })
      if let report = outcome.reports.first { FileHandle.standardError.write(Data("\(report)\n".utf8)) }
      input.put(frame.buffer)
      try metadata.write(contentsOf: FrameReport(frame, index: index).line)
      index += 1
    }
  }
}
