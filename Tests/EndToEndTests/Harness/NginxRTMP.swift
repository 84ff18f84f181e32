import Foundation

/// nginx with its RTMP module, as Debian has it: a media server that plays on what is pushed to it.
struct NginxRTMP {
  let port: Int
  private let folder: String

  /// - Parameters:
  ///   - folder: A folder for its files.
  ///   - port: TCP port of RTMP.
  init(in folder: String, port: Int) throws {
    self.port = port
    self.folder = "\(folder)/nginx-\(port)"
    try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    let configuration = """
      daemon off; master_process off; worker_processes 1;
      load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
      pid \(self.folder)/pid; error_log \(self.folder)/errors info;
      events { worker_connections 64; }
      rtmp { server { listen \(port); chunk_size 4096; application app { live on; wait_key on; } } }
      """
    try configuration.write(toFile: "\(self.folder)/conf", atomically: true, encoding: .utf8)
  }

  /// Starts the server, which listens at once.
  func start() throws -> ChildProcess {
    let command = try self.command
    return try ChildProcess(command[0], Array(command[1...]))
  }

  /// The command that runs it until it is ended.
  var command: [String] {
    get throws { [try Tool("nginx").path, "-p", self.folder, "-c", "\(self.folder)/conf"] }
  }

  /// Text of the server's error log; empty where there is none.
  var log: String { (try? String(contentsOfFile: "\(self.folder)/errors", encoding: .utf8)) ?? "" }

  /// Address of a stream.
  func url(_ name: String, host: String = "127.0.0.1") -> String { "rtmp://\(host):\(self.port)/app/\(name)" }
}
