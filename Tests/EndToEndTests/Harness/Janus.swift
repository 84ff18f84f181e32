import Foundation

/// Janus, as Debian has it: a WebRTC server with one room, 1234, that stores the packets of its publisher.
///
/// The API that `whip_janus.py` speaks, and that for administration, are the sockets `api` and `admin` of the folder: no port is taken
/// beforehand.
struct Janus {
  let folder: String

  /// - Parameters:
  ///   - folder: A folder for its files.
  ///   - bitrate: Bits per second that the room allows a publisher; 0 for any.
  init(in folder: String, bitrate: Int = 0) throws {
    self.folder = "\(folder)/janus"
    try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    let files = [
      // SIP would listen on a port.
      "janus": """
      general: { admin_secret = "admin"; session_timeout = 0; debug_colors = false; }
      plugins: { disable = "libjanus_sip.so"; }
      transports: {
        disable = "libjanus_http.so,libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_rabbitmq.so,libjanus_websockets.so";
      }
      """,
      "janus.transport.pfunix": """
      general: { enabled = true; path = "\(self.folder)/api"; type = "SOCK_SEQPACKET"; json = "compact"; }
      admin: { admin_enabled = true; admin_path = "\(self.folder)/admin"; admin_type = "SOCK_SEQPACKET"; }
      """,
      "janus.plugin.videoroom": """
      room-1234: {
        publishers = 1; videocodec = "h264"; audiocodec = "opus"; bitrate = \(bitrate);
        record = true; rec_dir = "\(self.folder)";
      }
      """,
    ]
    for (name, text) in files {
      try text.write(toFile: "\(self.folder)/\(name).jcfg", atomically: true, encoding: .utf8)
    }
  }

  /// Starts the server, and waits until it listens.
  func start() async throws -> ChildProcess {
    let child = try ChildProcess(Tool("janus").path, ["-C", "\(self.folder)/janus.jcfg", "-F", self.folder])
    do {
      try await child.says("Unix Sockets thread started", within: .seconds(300))
      return child
    } catch {
      child.kill()
      throw error
    }
  }

  /// Makes a file of a track's stored packets, by Janus' own tool.
  ///
  /// - Parameter kind: `video`, which becomes MP4, or `audio`, which becomes Ogg.
  func media(_ kind: String) async throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: self.folder)
    guard let stored = names.first(where: { $0.contains("-\(kind)-") && $0.hasSuffix(".mjr") }) else {
      throw VidiconProcess.Failure(description: "Janus has stored no \(kind): \(names)")
    }
    let file = "\(self.folder)/\(kind).\(kind == "video" ? "mp4" : "opus")"
    let run = try await Tool.run("janus-pp-rec", ["\(self.folder)/\(stored)", file], within: .seconds(300))
    guard run.succeeded else { throw VidiconProcess.Failure(description: "\(run.outputText) \(run.errors)") }
    return file
  }
}
