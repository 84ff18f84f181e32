import Foundation
import Testing

extension EndToEnd {
  /// `vidicon check` on machines with a planted fault each, and the commands that it prints.
  @Suite("The check of a machine, and the commands that mend it")
  struct MachineFaults {
    /// Maximum number of checks after a step: a service that has started may need a moment.
    private static let checkCount = 5

    @Test func `a machine without a fault is all right`() async throws {
      try await OwnMachine.running { machine in
        let report = try await machine.check(
          MachineFault.stream, as: .door,
          environment: OwnMachine.environment(clockService: "/etc/hostname"))
        #expect(report.findings.count > 12)
        // Of a machine without services.
        let problems = report.problems.filter { $0.part != "discovery" }
        #expect(problems.isEmpty, "\(report)")
      }
    }

    @Test(arguments: MachineFault.all)
    func `a planted fault of a machine is named, and what check prints mends it`(fault: MachineFault) async throws {
      try await OwnMachine.running(hasServices: fault.hasServices) { machine in
        try await machine.shell(fault.plant, as: .root)
        var environment = fault.environment
        if let camera = fault.camera { environment.merge(try OwnMachine.environment(camera: camera)) { $1 } }
        if let file = fault.clockService {
          environment.merge(try OwnMachine.environment(clockService: file)) { $1 }
        }
        let report = try await machine.check(
          fault.arguments, as: fault.user, environment: environment, prefix: fault.prefix)
        let named = try #require(fault.finding(in: report), "\(report)")
        let printed = named.command ?? ""
        switch fault.step {
        case .mends(let command):
          #expect(printed == command)
          try await machine.shell(printed, as: fault.user)
        case .shows(let command, let words):
          #expect(printed == command)
          let run = try await machine.shell(printed, as: fault.user)
          let output = run.outputText + run.errors
          #expect(output.contains(words), "\(output)")
          return
        case .installs(let command):
          #expect(printed == command)
          try await machine.shell("\(printed) --simulate", as: fault.user)
          return
        case .advises(let words, let line):
          #expect(named.advice?.contains(words) == true, "\(named)")
          if !line.isEmpty { try await machine.shell(line, as: .root) }
        }
        if let later = fault.laterEnvironment { environment.merge(later) { $1 } }
        var mended = report
        for _ in 0..<Self.checkCount where !fault.isMended(in: mended) {
          mended = try await machine.check(
            fault.laterArguments ?? fault.arguments, as: fault.user, environment: environment,
            prefix: fault.keepsPrefix ? fault.prefix : [])
        }
        #expect(fault.isMended(in: mended), "\(mended)")
      }
    }
  }
}
