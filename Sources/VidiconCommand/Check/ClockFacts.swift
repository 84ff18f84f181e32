import Foundation
import Threading

/// Facts about the clock of this machine, on which logins, certificates and the dates of playlists and files depend.
struct ClockFacts: Sendable {
  /// Whether a time service keeps it, as the kernel knows.
  var isSynchronized: Bool
  /// Time of day, in seconds since 1970-01-01 00:00 UTC.
  var unixTime: Int64
  /// Whether a time service is installed.
  var hasTimeService: Bool
  /// Whether the program runs in a container, whose clock is the host's.
  var isInContainer = false

  /// Start of 2026: no machine with this version has an earlier time.
  private static let firstPlausibleTime: Int64 = 1_767_225_600

  /// One finding.
  var findings: [CheckFinding] {
    let subject = "clock"
    let remedy: CheckFinding.Remedy =
      self.isInContainer
      ? .advice("let a time service keep the clock of the host, as systemd-timesyncd")
      : .command(self.hasTimeService ? "sudo timedatectl set-ntp true" : "sudo apt install systemd-timesyncd")
    if self.unixTime < Self.firstPlausibleTime {
      return [
        .fault(
          subject, "its date is before that of this program: certificates are refused, and files have wrong names",
          remedy)
      ]
    }
    guard self.isSynchronized else {
      return [
        .warning(
          subject, "no time service keeps it: logins of some cameras fail, and no recording is removed by age", remedy)
      ]
    }
    return [.ok(subject, "synchronized")]
  }
}

extension ClockFacts {
  /// The clock of this machine.
  static func ofMachine() -> ClockFacts {
    let clock = WallClock.system
    let services = ["/lib/systemd/systemd-timesyncd", "/usr/sbin/chronyd", "/usr/sbin/ntpd", "/usr/sbin/ntpsec"]
    return ClockFacts(
      isSynchronized: clock.isSynchronized(), unixTime: clock.now() / 1_000_000_000,
      hasTimeService: services.contains { FileManager.default.fileExists(atPath: $0) },
      isInContainer: AddressFacts.isInContainer)
  }
}
