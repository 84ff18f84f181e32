import Media
import Recording

/// Facts about the folders and disks of recordings.
struct RecordingFacts: Sendable {
  /// Reason why no right of a user helps.
  enum Obstacle: Equatable, Sendable {
    /// A file has this path, where a folder is needed.
    case file(String)
    /// A folder above is not open to this user.
    case closed
    /// The disk is mounted read-only; the path is one on it that exists.
    case readOnly(String)
  }

  /// The folder of a stream's recordings.
  struct Target: Sendable {
    /// Name of the stream.
    var stream: String
    /// Path of the folder.
    var folder: String
    var exists = true
    /// Whether this user may create it where it does not exist.
    var isCreatable = true
    /// Whether this user may create files in it.
    var isWritable = true
    /// Whether it is this user's own.
    var isOwn = false
    /// Whether its mode keeps its owner from creating files.
    var isClosedToOwner = false
    /// Reason why rights to it do not help; nil where they do.
    var obstacle: Obstacle?
    /// Name of this user as one word of a shell.
    var user = CurrentUser.variable
    /// Folder of the service that records, whose owner the folder is to have; nil for this user.
    var serviceFolder: String?
    /// Free space of its disk; nil where it is not known.
    var space: DiskSpace?
    /// Bytes of the files that are there already, which retention rules count.
    var recordedByteCount = 0
    /// Bits per second of video and audio, as encoded.
    var bitrate: Int
    /// Bytes that stay free; nil for the default.
    var minimumFreeByteCount: Int?
    /// Maximum age of files; nil without a rule.
    var keepAge: MediaDuration?
    /// Maximum number of bytes of all files; nil without a rule.
    var keepSize: Int?
  }

  var targets: [Target]

  /// Time for which a disk without a retention rule is to have space.
  private static let comfortableHours = 24.0

  /// One finding for each folder.
  var findings: [CheckFinding] {
    self.targets.isEmpty ? [.ok("recordings", "none in this configuration")] : self.targets.map(self.finding)
  }

  private func finding(_ target: Target) -> CheckFinding {
    let subject = "recordings of \(target.stream)"
    let folder = target.folder.pathWithoutCredentials()
    if let obstacle = target.obstacle { return Self.finding(subject, folder, obstacle) }
    guard target.exists else {
      let word = folder.shellWord
      if let service = target.serviceFolder {
        let command = "sudo mkdir -p \(word) && \(Self.adoption(of: word, by: service))"
        return .fault(subject, "the folder \(folder) of the service does not exist", .command(command))
      }
      let command =
        target.isCreatable ? "mkdir -p \(word)" : "sudo mkdir -p \(word) && sudo chown \(target.user) \(word)"
      return .fault(subject, "the folder \(folder) does not exist", .command(command))
    }
    if !target.isWritable, let service = target.serviceFolder {
      return .fault(
        subject, "the service may not write to \(folder)", .command(Self.adoption(of: folder.shellWord, by: service)))
    }
    guard target.isWritable else {
      return .fault(subject, "this user may not write to \(folder)", Self.opening(target, word: folder.shellWord))
    }
    guard let space = target.space else { return .ok(subject, "\(folder) is writable") }
    let free = Quantity.text(byteCount: Int(clamping: space.free))
    if space.missing(for: 0, leaving: target.minimumFreeByteCount) > 0 {
      return .fault(
        subject, "the disk of \(folder) has \(free), less than what is to stay free, so that a recording ends at once",
        .command("df -h \(folder.shellWord)"))
    }
    return self.retention(of: target, space, subject: subject, free: free)
  }

  private static func finding(_ subject: String, _ folder: String, _ obstacle: Obstacle) -> CheckFinding {
    switch obstacle {
    case .file(let path):
      return .fault(
        subject, "\(path.pathWithoutCredentials()) is a file, where the folder \(folder) is to be",
        .advice("choose another folder, or move that file"))
    case .closed:
      return .fault(
        subject, "this user may not enter a folder above \(folder)",
        .advice("choose a folder that this user may enter, such as one in its home"))
    case .readOnly(let path):
      let word = path.pathWithoutCredentials().shellWord
      return .fault(
        subject, "the disk of \(folder) is mounted read-only, as after an error of it",
        .command("sudo mount -o remount,rw \"$(findmnt -no TARGET -T \(word))\""))
    }
  }

  /// The way to create files in a folder: its owner, its mode, or both.
  private static func opening(_ target: Target, word: String) -> CheckFinding.Remedy {
    var commands: [String] = []
    if !target.isOwn { commands.append("sudo chown \(target.user) \(word)") }
    if target.isClosedToOwner { commands.append("chmod u+rwx \(word)") }
    // Neither is the reason, but a list of rights (ACL) or a module of the kernel.
    guard !commands.isEmpty else { return .advice("choose another folder") }
    return .command(commands.joined(separator: " && "))
  }

  /// The command that gives a folder to the user of a service, whose name is known only while it runs.
  private static func adoption(of word: String, by serviceFolder: String) -> String {
    "sudo chown --reference=\(serviceFolder.shellWord) \(word)"
  }

  private func retention(
    of target: Target, _ space: DiskSpace, subject: String, free: String
  ) -> CheckFinding {
    let kept = target.minimumFreeByteCount.map { UInt64(clamping: $0) } ?? space.defaultMinimum
    let available = Double(target.recordedByteCount) + Double(space.free) - Double(kept)
    let perSecond = Double(target.bitrate) / 8
    var needed = target.keepAge.map { $0.seconds * perSecond } ?? .infinity
    if let size = target.keepSize { needed = min(needed, Double(size)) }
    let folder = target.folder.pathWithoutCredentials()
    guard needed.isFinite else {
      let hours = perSecond > 0 ? (Double(space.free) - Double(kept)) / perSecond / 3600 : .infinity
      let text = "\(folder) has \(free), enough for \(Self.text(hours: hours))"
      guard hours < Self.comfortableHours else { return .ok(subject, text) }
      return .warning(
        subject, "\(text), and nothing is removed", .advice("give --keep-size or --keep-age, or free space"))
    }
    guard needed > available else { return .ok(subject, "\(folder) has \(free), enough for what is to be kept") }
    return .warning(
      subject,
      "what is to be kept needs \(Quantity.text(byteCount: Self.whole(needed))), and \(folder) has room for "
        + "\(Quantity.text(byteCount: Self.whole(available))), so that files are removed earlier",
      .advice("give a smaller --keep-age or --keep-size, or a larger disk"))
  }

  /// Days from two on, else hours.
  private static func text(hours: Double) -> String {
    hours >= 48 ? "\(self.whole(hours / 24)) days" : "\(self.whole(hours)) hours"
  }

  /// The whole number below a value, at least 0.
  private static func whole(_ value: Double) -> Int { Int(max(0, min(value, 1e15))) }
}
