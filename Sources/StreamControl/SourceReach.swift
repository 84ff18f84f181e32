internal import Authentication
internal import Capture
internal import Libc
internal import Media
internal import MediaInput

/// The files and hosts that a client with the operator role may reach through a source.
///
/// Sources that the stream started with are allowed: the owner chose them.
struct SourceReach {
  let start: SourceSelection
  /// Folders whose files may be chosen.
  let fileFolders: [String]
  /// Whether link-local and cloud metadata addresses may be chosen.
  var allowsLinkLocal = false

  /// Replaces the paths of files by their true paths, and refuses files outside of the folders, link-local addresses, displays
  /// of other machines, and names of devices that lead elsewhere.
  /// Blocks while host names are resolved. Addresses that a name has later, and that a server leads to, are refused when the
  /// source connects: `NetworkSpecification.allowsLinkLocal`.
  func resolve(_ requested: SourceSelection) -> Result<SourceSelection, VidiconError> {
    do throws(VidiconError) {
      return .success(
        SourceSelection(
          video: try requested.video.map { video throws(VidiconError) in try self.resolve(video) },
          audio: try requested.audio.map { audio throws(VidiconError) in try self.resolve(audio) }))
    } catch {
      return .failure(error)
    }
  }

  private func resolve(_ video: SourceSpecification.Video) throws(VidiconError) -> SourceSpecification.Video {
    guard !self.start.contains(video.name) else { return video }
    switch video {
    case .file(let path): return .file(path: try self.truePath(path))
    case .network(let address): try self.check(address)
    case .screen(let screen):
      guard screen.isOfThisMachine else {
        throw Self.notOverHTTP(video.name, "its display may be of another machine", "write screen: or screen::0")
      }
    case .camera(let camera):
      guard camera.isOfThisMachine else {
        throw Self.notOverHTTP(video.name, "its path is not that of a camera", "use /dev/video0 or a link in /dev/v4l")
      }
    case .plasma, .noise, .bars, .pipe, .published, .other: break
    }
    return video
  }

  private func resolve(_ audio: SourceSpecification.Audio) throws(VidiconError) -> SourceSpecification.Audio {
    guard !self.start.contains(audio.name) else { return audio }
    switch audio {
    case .file(let path): return .file(path: try self.truePath(path))
    case .network(let address): try self.check(address)
    case .microphone(let microphone):
      guard microphone.isOfThisMachine else {
        throw Self.notOverHTTP(
          audio.name, "its name may lead to a file or another machine", "use one of vidicon devices")
      }
    case .auto, .tone, .silence, .none, .other: break
    }
    return audio
  }

  private func check(_ address: NetworkSpecification) throws(VidiconError) {
    if !self.allowsLinkLocal { try Self.checkHost(address) }
    guard address.isCaller else {
      throw Self.notOverHTTP(address.description, "it opens a port of this machine", "use mode=caller")
    }
  }

  /// The error of a source that only the owner chooses, on the command line or in the configuration file.
  private static func notOverHTTP(_ source: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .notPermitted, subject: source.withoutCredentials(), cause: cause,
      nextStep: "\(nextStep), or start the server with this source")
  }

  /// The path without links and dots; a regular file below a folder.
  private func truePath(_ path: String) throws(VidiconError) -> String {
    let refusal = VidiconError(
      .notPermitted, subject: "file:\(path)", cause: "files are chosen from the folders of --files only",
      nextStep: self.fileFolders.isEmpty
        ? "start the server with --files FOLDER" : "move it there, or start the server with its folder too")
    guard !path.utf8.contains(0), let resolved = realpath(path, nil) else { throw refusal }
    defer { free(resolved) }
    let file = String(cString: resolved)
    var status = stat()
    guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw refusal }
    let isInside = self.fileFolders.contains { folder in
      guard let resolved = realpath(folder, nil) else { return false }
      defer { free(resolved) }
      let folder = String(cString: resolved)
      return file.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }
    guard isInside else { throw refusal }
    return file
  }

  /// Refuses a host with a link-local or metadata address.
  private static func checkHost(_ specification: NetworkSpecification) throws(VidiconError) {
    if IPAddress.addresses(of: specification.host).contains(where: \.isLinkLocalOrMetadata) {
      throw .refusedLinkLocal(specification.description)
    }
  }
}
