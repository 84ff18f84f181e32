import NIOCore

/// Replays the calls of one recording, and judges what each interruption leaves.
public struct InterruptionJudge {
  /// Path of the recording.
  private let path: String
  private var replay = DiskReplay()
  /// Judged contents, as buffers: arrays hash each byte on its own.
  private var known: [ByteBuffer: RecordedSamples?] = [:]
  /// Samples of the fragments whose synchronization has returned.
  public private(set) var promised = 0
  /// Number of interruptions that were judged.
  public private(set) var cutCount = 0
  /// Some of the disks, to be repaired and played.
  public private(set) var samples: [(image: DiskReplay.Image, promised: Int)] = []
  /// Interruptions that cost samples which were promised.
  public private(set) var losses: [String] = []

  /// - Parameter path: The file that is recorded, by its final name.
  public init(path: String) { self.path = path }

  /// Judges what an interruption of the call leaves, then performs it.
  public mutating func perform(_ call: DiskCall) {
    if call.kind != .read, call.kind != .open {
      for image in self.replay.killedImages(in: call) { self.judge(image, "killed in \(call.kind) at \(call.offset)") }
      for image in self.replay.lostPowerImages { self.judge(image, "power lost before \(call.kind) at \(call.offset)") }
    }
    self.replay.perform(call)
    // The recorder reports nothing as recorded before the folder has the name.
    if call.kind == .synchronize, let bytes = self.replay.syncedImage[self.path] ?? self.replay.cachedImage[self.path] {
      self.promised = max(self.promised, self.count(bytes)?.count ?? 0)
    }
  }

  /// Judges a power loss after the last call.
  public mutating func end() {
    for image in self.replay.lostPowerImages { self.judge(image, "power lost at the end") }
  }

  private mutating func judge(_ image: DiskReplay.Image, _ name: String) {
    self.cutCount += 1
    if self.cutCount % 97 == 0 { self.samples.append((image, self.promised)) }
    guard self.promised > 0 else { return }
    let found = image[self.path].flatMap { self.count($0) }
    if found.map({ $0.count < self.promised }) ?? true {
      self.losses.append("\(name): \(found?.count ?? -1) of \(self.promised) samples")
    }
  }

  private mutating func count(_ bytes: [UInt8]) -> RecordedSamples? {
    let content = ByteBuffer(bytes: bytes)
    if let known = self.known[content] { return known }
    let samples = RecordedSamples(bytes)
    self.known[content] = .some(samples)
    return samples
  }
}
