internal import Threading

/// Runs the parts of a check at the same time, each on a thread of its own with a time limit: a driver may never respond.
struct MachineCheck: Sendable {
  /// Collects the facts of a part and judges them; may block.
  typealias Collect = @Sendable () -> [CheckFinding]

  /// The parts to check.
  var parts: [CheckPart: Collect]
  /// Maximum time for a part. With the second for reading the configuration before, a check ends within six seconds.
  var limit = Duration.milliseconds(4500)

  /// Checks all parts, and returns when each has its findings or has exceeded its time.
  func run() async -> CheckReport {
    await withTaskGroup(of: (CheckPart, [CheckFinding]).self) { group in
      for (part, collect) in self.parts {
        let limit = self.limit
        group.addTask {
          let findings = await WorkerThread.run(named: part.rawValue, timeout: limit, collect)
          return (part, findings ?? [Self.unresponsive(part)])
        }
      }
      var findings: [CheckPart: [CheckFinding]] = [:]
      for await (part, found) in group { findings[part] = found }
      return CheckReport(findings)
    }
  }

  static func unresponsive(_ part: CheckPart) -> CheckFinding {
    let advice =
      switch part {
      case .cameras, .microphones: "unplug the devices one after the other, to find the one that hangs"
      case .screen: "check whether the X server hangs"
      case .recordings, .models, .certificates, .configuration:
        "check whether a disk or network folder of the configuration hangs"
      default: "end other programs, and check again"
      }
    return .fault(part.rawValue, "no response within the time of the check", .advice(advice))
  }
}

extension MachineCheck {
  /// The check of this machine with a configuration.
  ///
  /// - Parameter reading: The configuration that was read, or the reason why there is none; the defaults then stand for it.
  init(_ reading: ConfigurationReading) {
    let configuration = reading.configuration
    self.init(parts: [
      .configuration: { ConfigurationFacts(reading).findings },
      .ports: { PortFacts(configuration).findings },
      .addresses: { AddressFacts(configuration).findings },
      .firewall: { FirewallFacts(configuration).findings },
      .discovery: { DiscoveryFacts(configuration).findings },
      .cameras: { CameraFacts(configuration).findings },
      .microphones: { MicrophoneFacts(configuration).findings },
      .screen: { ScreenFacts(configuration).findings },
      .encoder: { EncoderFacts(configuration).findings },
      .models: { ModelFacts(configuration).findings },
      .recordings: { RecordingFacts(configuration, of: reading.serviceFolder).findings },
      .clock: { ClockFacts.ofMachine().findings },
      .certificates: { CertificateFacts(configuration).findings },
      .files: { OpenFileFacts.ofProcess().findings },
    ])
  }
}
