import CaptureDevices
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
    /// Whether it is root's.
    var isOfRoot = false
    /// Reason why rights to it do not help; nil where they do.
    var obstacle: Obstacle?
    /// Name of this user as one word of a shell.
    var user = CurrentUser.variable
    /// Folder of the service that records, whose owner the folder is to have; nil for this user.
    var serviceFolder: String?
    /// Whether this process is the service, whose unit limits the folders that it sees.
    var isInService = false
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
    if let service = target.serviceFolder, let meaning = Self.refusal(of: target, by: service, folder) {
      let advice = "record below \(service), or outside of /home with User= and ReadWritePaths= (docs/operate.md)"
      return .fault(subject, meaning, .advice(advice))
    }
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
      let command =
        target.isSystemFolder
        ? Self.subfolder(of: folder) { Self.adoption(of: $0, by: service) }
        : Self.adoption(of: folder.shellWord, by: service)
      return .fault(subject, "the service may not write to \(folder)", .command(command))
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

  /// Reason why a service that looks at its own folders may not write to one; nil where it may, or where commands mend it.
  ///
  /// A unit gives its service a view of the machine's folders, in which a disk can be read-only that is writable outside.
  private static func refusal(of target: Target, by serviceFolder: String, _ folder: String) -> String? {
    guard target.isInService else { return nil }
    switch target.obstacle {
    case .file: return nil
    case .closed: return "the service may not enter a folder above \(folder), as its unit has it for /home"
    case .readOnly: return "\(folder) is read-only for the service, as its unit has it"
    case nil:
      let isAllowed = target.exists ? target.isWritable : target.isCreatable
      let isOwnFolder = "\(target.folder)/".hasPrefix("\(serviceFolder)/")
      return isAllowed || isOwnFolder ? nil : "the service may not write to \(folder)"
    }
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
    if target.isSystemFolder {
      return .command(
        Self.subfolder(of: target.folder.pathWithoutCredentials()) { "sudo chown \(target.user) \($0)" })
    }
    var commands: [String] = []
    if !target.isOwn { commands.append("sudo chown \(target.user) \(word)") }
    if target.isClosedToOwner { commands.append("chmod u+rwx \(word)") }
    // Neither is the reason, but a list of rights (ACL) or a module of the kernel.
    guard !commands.isEmpty else { return .advice("choose another folder") }
    return .command(commands.joined(separator: " && "))
  }

  /// The command that makes a folder for recordings in one that stays root's.
  ///
  /// - Parameter adoption: The command that gives the folder, as one word of a shell, to who records.
  private static func subfolder(of folder: String, adoption: (String) -> String) -> String {
    let word = (folder.hasSuffix("/") ? "\(folder)vidicon" : "\(folder)/vidicon").shellWord
    return "sudo mkdir -p \(word) && \(adoption(word))  # then record there"
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

extension RecordingFacts.Target {
  /// Whether the folder is one of the system, such as `/srv`, `/var/lib` or `/usr/local`, which stays root's.
  fileprivate var isSystemFolder: Bool {
    guard self.isOfRoot, self.folder.hasPrefix("/") else { return false }
    let names = self.folder.split(separator: "/")
    guard let first = names.first, names.count > 1 else { return true }
    return first == "usr" || first == "etc" || first == "var" && names.count == 2
  }
}
