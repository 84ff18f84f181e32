import Foundation
import TestSupport
import Testing

/// A capture of an RTMP server's connections on the loopback interface by tshark, which dissects them afterwards with its
/// default preferences. Those ignore chunks and messages of more than 32 kB: the frames of a test are smaller.
struct RTMPCapture {
  /// Summary of the dissector for each packet with RTMP, one a line.
  let dialogue: String
  /// Expert information about the RTMP of packets, one a line, warnings and errors only. That about TCP depends on the machine
  /// and is left out.
  let expertInformation: String

  /// Captures the connections of a port during `body`.
  static func dissecting(port: Int, _ body: () async throws -> Void) async throws -> RTMPCapture {
    try await TestMedia.withTemporaryFolder { folder in
      let file = "\(folder)/rtmp.pcap"
      let process = try ChildProcess(
        Tool("tshark").path, ["-q", "-i", "lo", "-f", "tcp port \(port)", "-w", file, "-a", "duration:60"])
      defer { process.kill() }
      func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: file))?[.size] as? Int ?? 0 }
      try await eventually { size() > 0 }
      try await body()
      // Media that was captured last is written with a delay, and lost by an interruption.
      var last = (size: size(), time: ContinuousClock.now)
      try await eventually {
        if size() != last.size { last = (size(), .now) }
        return ContinuousClock.now - last.time > .seconds(2)
      }
      process.signal(SIGINT)
      #expect(await process.end(within: MachineShare.timeout(.seconds(20))) != nil, "\(process.errors.text)")
      func dissection(_ options: [String]) async throws -> String {
        let run = try await Tool.run(
          "tshark", ["-r", file, "-d", "tcp.port==\(port),rtmpt"] + options, within: .seconds(20))
        try #require(run.succeeded, "\(run.errors)")
        return run.outputText
      }
      let groups = #"{"Malformed", "Undecoded", "Protocol", "Reassemble"}"#
      return RTMPCapture(
        dialogue: try await dissection(["-Y", "rtmpt"]),
        expertInformation: try await dissection([
          "-Y", #"rtmpt && _ws.expert.severity >= "Warning" && _ws.expert.group in \#(groups)"#, "-T", "fields",
          "-e", "frame.number", "-e", "_ws.expert.message",
        ]))
    }
  }

  /// Checks that the dissector knows all messages of the dialogue, and has seen some of them.
  func expectUnderstood(with messages: [String]) {
    for message in messages { #expect(self.dialogue.contains(message), "no \(message)") }
    let complaints = self.dialogue.split(separator: "\n").filter { line in
      ["Unknown", "Malformed", "ERROR", "Undecoded"].contains { line.contains($0) }
    }
    #expect(complaints == [])
    #expect(self.expertInformation == "")
  }
}
