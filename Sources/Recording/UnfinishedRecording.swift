internal import Containers
internal import Libc
internal import Media
internal import NIOCore

/// A recording that a crash may have left unfinished, opened and locked.
struct UnfinishedRecording {
  private let path: String
  private let file: FileDescriptor
  private let folder: FileDescriptor
  private let folderPath: String
  private let name: String
  /// False on a file system without locks: another program may have the file open.
  private var isLocked = true

  /// Opens and locks a file.
  ///
  /// - Parameter isRequested: Whether its user has named the file. Where the file system has no locks it is then opened if nothing
  ///   writes it, of which a recent write leaves doubt for some seconds; else it is refused.
  /// - Throws: ``VidiconError`` when the file cannot be opened, locked or repaired.
  init(_ path: String, isRequested: Bool) throws(VidiconError) {
    // A symbolic link is resolved, so that its target is finished.
    guard let resolved = realpath(path, nil) else {
      throw errno == ENOENT || errno == ENOTDIR
        ? VidiconError(.notFound, path: path, cause: "there is no such file", nextStep: "check the name")
        : VidiconError(errno: errno, path: path)
    }
    defer { free(resolved) }
    let (folder, name) = Folder.split(String(cString: resolved))
    self.folder = try FileDescriptor(folder, O_RDONLY | O_DIRECTORY, subject: path)
    // Some network file systems lock only what may be written.
    let flags = O_NONBLOCK | O_NOFOLLOW
    if let file = try? FileDescriptor(name, O_RDWR | flags, in: self.folder, subject: path) {
      self.file = file
    } else {
      self.file = try FileDescriptor(name, O_RDONLY | flags, in: self.folder, subject: path)
    }
    (self.path, self.folderPath, self.name) = (path, folder, name)
    guard try self.file.status().st_mode & S_IFMT == S_IFREG else { throw self.error("it is no file", "give a file") }
    // The previous owner of the lock may have replaced the file with the finished one.
    let lock = self.file.lock()
    self.isLocked = lock != .unknown
    guard self.isLocked || isRequested else {
      throw VidiconError(
        .failed, path: path, cause: "its file system does not say whether it is being recorded; nothing was changed",
        nextStep: "\"vidicon repair\" finishes it if nothing writes it")
    }
    let isBusy =
      lock == .taken
      || lock == .unknown && self.mark != .finished && !FileActivity.isAtRest(self.file, in: self.folder)
        && FileActivity.isWritten(self.file)
    guard !isBusy, self.file.hasName(name, in: self.folder) else {
      throw VidiconError(
        .busy, path: path, cause: "it is being recorded or finished", nextStep: "stop the recording, or wait")
    }
  }

  /// The marker of a file that this program recorded; nil for other files.
  var mark: RecordingMarker? { RecordingHead(of: self.file)?.mark }

  /// Finishes the file, and removes temporary files of earlier attempts.
  ///
  /// - Parameter maximumCopiedByteCount: Files with more media data are finished in place.
  func repair(
    maximumCopiedByteCount: Int = RecordingSettings.maximumCopiedByteCount
  ) throws(VidiconError) -> Recordings.Repair {
    if self.mark == .finished { return .wasFinished(path: self.path) }
    guard try self.file.status().st_size > 0 else {
      throw self.error("it is empty; nothing was recorded in it", "remove it")
    }
    // A recorder that has the file open after all notices that it was replaced; a change in place would damage it.
    let finalizer = RecordingFinalizer(
      file: self.file, folder: self.folder, name: self.name, maximumCopiedByteCount: maximumCopiedByteCount,
      mayFinishInPlace: self.isLocked)
    let scan: MovieScan
    switch try finalizer.scan() {
    case .success(let found): scan = found
    case .failure(let error):
      return try self.explain(error, isOwn: finalizer.isOwn, hasFragments: finalizer.hasFragments)
    }
    // Others may have what this program does not keep: edit lists, other codecs, an index.
    guard finalizer.isOwn || scan.replacedHead != nil, !scan.isForeign else { throw self.foreign }
    guard scan.movie.sampleCount > 0 else {
      throw self.error(
        "it holds no whole fragment; nothing can be saved, and nothing was changed",
        scan.damage.isEmpty ? "remove it" : "restore it from a backup")
    }
    let finished = try finalizer.run(scan)
    // Copies of earlier attempts that were interrupted.
    TemporaryFile.removeAll(in: self.folderPath)
    return .finished(finished)
  }

  private var foreign: VidiconError {
    self.error("it is not a recording of vidicon; nothing was changed", "repair it with the program that wrote it")
  }

  /// Removes the file when it contains no fragment.
  func removeIfEmpty() -> Bool {
    let finalizer = RecordingFinalizer(file: self.file, folder: self.folder, name: self.name)
    guard self.mark == .open, case .success(let scan)? = try? finalizer.scan(), scan.movie.sampleCount == 0,
      scan.damage.isEmpty
    else {
      return false
    }
    return unlinkat(self.folder.number, self.name, 0) == 0
  }

  /// - Parameter hasFragments: Whether the file seems to have fragments behind its damaged head.
  private func explain(_ error: ParsingError, isOwn: Bool, hasFragments: Bool) throws(VidiconError) -> Recordings.Repair
  {
    let boxes = self.boxes
    switch (error.code, error.field) {
    // The data of other programs' plain files may look like fragments.
    case (.missing, "mvex") where self.mark != .open && !boxes.hasFragment && !(isOwn && hasFragments):
      guard boxes.areWhole else {
        throw self.error("it is a plain MP4 file that was cut short", "get a whole copy of it")
      }
      guard self.hasSamples else {
        throw self.error("its head is damaged: it lists no samples; nothing was changed", "restore it from a backup")
      }
      return .wasFinished(path: self.path)
    case _ where hasFragments:
      throw self.error(
        "its head is damaged (\(error)), and so is the copy of it; nothing was changed", "restore it from a backup")
    case (.missing, "ftyp"): throw self.error("it is no MP4 file", "give a file that \"vidicon\" recorded")
    case (.missing, "moov"), (.truncated, _):
      throw self.error(
        "it ends before its head does; nothing can be saved", isOwn ? "remove it" : "get a whole copy of it")
    default: throw self.error("its head is damaged (\(error)); nothing was changed", "restore it from a backup")
    }
  }

  /// Whether all boxes of the file are complete, with media data among them, and whether one of them is a `moof`.
  private var boxes: (areWhole: Bool, hasFragment: Bool) {
    guard let length = try? self.file.status().st_size else { return (false, false) }
    var walker = MP4FileWalker(length: UInt64(clamping: length)) { [file] in file.read(at: $0, count: $1) }
    var types: Set<FourCharacterCode> = []
    do throws(ParsingError) {
      while let box = try walker.next() { types.insert(box.type) }
      return (types.contains("mdat"), types.contains("moof"))
    } catch {
      return (false, types.contains("moof"))
    }
  }

  /// Whether a track of the file lists samples, as those of plain files do.
  private var hasSamples: Bool {
    guard let length = try? self.file.status().st_size else { return false }
    return self.boxes(["moov", "trak", "mdia", "minf", "stbl"], in: 0..<UInt64(clamping: length)).contains { table in
      // Version and flags, the size of all samples or of their entries, then their number: ISO/IEC 14496-12 §8.7.3.
      (self.boxes(["stsz"], in: table) + self.boxes(["stz2"], in: table)).contains { sizes in
        self.number(at: sizes.lowerBound + 8, in: sizes) ?? 0 > 0
      }
    }
  }

  /// The contents of all boxes of a path, which begins in a range of the file.
  private func boxes(_ path: ArraySlice<FourCharacterCode>, in range: Range<UInt64>) -> [Range<UInt64>] {
    guard let type = path.first else { return [range] }
    var walker = MP4FileWalker(length: range.upperBound - range.lowerBound) { [file] in
      file.read(at: range.lowerBound + $0, count: $1)
    }
    var found: [Range<UInt64>] = []
    while let box = try? walker.next() {
      guard box.type == type else { continue }
      let content = range.lowerBound + box.content.lowerBound..<range.lowerBound + box.content.upperBound
      found += self.boxes(path.dropFirst(), in: content)
    }
    return found
  }

  private func number(at offset: UInt64, in range: Range<UInt64>) -> UInt32? {
    guard offset + 4 <= range.upperBound, var bytes = self.file.read(at: offset, count: 4) else { return nil }
    return bytes.readInteger()
  }

  private func error(_ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(.invalidData, path: self.path, cause: cause, nextStep: nextStep)
  }
}

/// Finds and repairs unfinished recordings in folders.
enum UnfinishedRecordings {
  /// Finishes the files that match a pattern.
  static func repair(matching pattern: FilePattern) -> [Recordings.Repair] {
    var results: [Recordings.Repair] = []
    pattern.forEach(
      folder: { TemporaryFile.removeAll(in: $0) },
      file: { path in
        if let result = Self.repair(path) { results.append(result) }
      })
    return results
  }

  /// Finishes files of a folder.
  static func repair(in folder: String, names: [String]) -> [Recordings.Repair] {
    defer { TemporaryFile.removeAll(in: folder) }
    let prefix = folder == "." ? "" : folder.hasSuffix("/") ? folder : folder + "/"
    return names.filter { !$0.hasPrefix(".") && !$0.contains(RecordingFinalizer.damagedSuffix) }.compactMap {
      Self.repair(prefix + $0)
    }
  }

  /// Finishes a file if this program left it open; nil otherwise.
  private static func repair(_ path: String) -> Recordings.Repair? {
    do throws(VidiconError) {
      // Checked before locking, so that files of other programs are never locked.
      guard let peek = try? FileDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
        try peek.status().st_mode & S_IFMT == S_IFREG, RecordingHead(of: peek)?.mark == .open
      else { return nil }
      let file = try UnfinishedRecording(path, isRequested: false)
      return file.removeIfEmpty() ? .removedEmpty(path: path) : try file.repair()
    } catch {
      return error.code == .busy ? nil : .failed(error)
    }
  }
}
