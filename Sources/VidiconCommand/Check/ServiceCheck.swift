import CaptureDevices
import ControlAPI
import Foundation
import Streaming
import Synchronization
import Vidicon

/// The check of a program that serves, which operators ask for on the page: of the configuration in force, and without work that its
/// viewers would notice.
///
/// Nothing is encoded for it, see ``EncodingFacts``. A driver that never responds keeps one thread at most: its part is not checked again
/// before that has ended.
final class ServiceCheck: Sendable {
  private let makeCheck: @Sendable () -> MachineCheck
  /// Parts whose thread has not ended.
  private let unfinished = Mutex<Set<CheckPart>>([])

  /// Runs checks that are made for each run.
  init(_ makeCheck: @escaping @Sendable () -> MachineCheck) {
    self.makeCheck = makeCheck
  }

  /// Checks the machine and its parts that have ended, and returns when each has its findings or has exceeded its time.
  func perform() async -> CheckEntry {
    var check = self.makeCheck()
    for (part, collect) in check.parts {
      check.parts[part] = { [self] in
        guard self.unfinished.withLock({ $0.insert(part).inserted }) else { return [MachineCheck.unresponsive(part)] }
        defer { _ = self.unfinished.withLock { $0.remove(part) } }
        // The operator who copies a command is another user.
        return collect().map { $0.forOthers(CurrentUser.substitute) }
      }
    }
    return await check.run().entry
  }
}

extension ServiceCheck {
  /// The check of a server and its streams.
  ///
  /// - Parameters:
  ///   - file: Path of the configuration file; nil without one.
  ///   - configuration: The configuration in force.
  convenience init(
    of server: CameraServer, _ running: RunningStreams, file: String?,
    configuration: @escaping @Sendable () -> ServeConfiguration
  ) {
    // Root edits the file of which the service of the package has a copy.
    let copy = file.flatMap { ServiceCopy($0, environment: ProcessInfo.processInfo.environment) }
    let edited = copy?.isOfPackage == true ? SetupCommand.path : file
    self.init { Self.check(of: server.ports, running.streams, file: edited, configuration()) }
  }

  /// The check of a program that serves streams on ports; nil where those are not open.
  static func check(
    of ports: CameraServerPorts?, _ streams: [LiveStream], file: String?, _ configuration: ServeConfiguration
  ) -> MachineCheck {
    let reading = ConfigurationReading(configuration: configuration, file: file)
    // Commands of the page are typed in another folder.
    let folder = FileManager.default.currentDirectoryPath
    var check = MachineCheck(reading)
    check.parts[.configuration] = { ConfigurationFacts(reading, in: folder).findings }
    check.parts[.ports] = { PortFacts(configuration, served: ports).findings }
    check.parts[.recordings] = { RecordingFacts(served: configuration).findings }
    check.parts[.certificates] = { CertificateFacts(configuration, in: folder).findings }
    check.parts[.encoder] = { EncodingFacts(streams).findings }
    return check
  }
}
