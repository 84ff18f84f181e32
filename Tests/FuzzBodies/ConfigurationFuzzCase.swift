internal import Authentication
internal import Foundation
internal import Media
internal import NIOCore
internal import Pushing
internal import VidiconCommand
internal import WebRTC

/// Checks of the user's settings, the YAML configuration file, `--stream` and `--push`, and of responses to the program's commands.
struct ConfigurationFuzzCase {
  private let text: String

  init(_ input: ByteBuffer) {
    self.text = String(buffer: input)
  }

  func run() {
    self.checkFile()
    self.checkStream()
    self.checkResponse()
    self.checkAddress()
    self.checkPush()
  }

  /// A file is refused with a message that names the file, or its ports are in range.
  private func checkFile() {
    let path = "vidicon.yaml"
    do throws(VidiconError) {
      let configuration = try ServeConfiguration(yaml: self.text, path: path)
      precondition([configuration.rtspPort, configuration.httpPort].allSatisfy { (0...65_535).contains($0 ?? 0) })
      precondition(configuration.streams.allSatisfy { Self.isName($0.name) }, "names are parts of a URL")
    } catch {
      precondition(error.description.hasPrefix(path), "a message begins with the file's name")
      // A secret may stand in a file of its own, which this text may name.
      precondition(
        error.exitStatus == 64 || self.text.contains("@") || self.text.contains("pushFile"), "it is wrong usage")
    }
  }

  /// A list of pairs is refused as a wrong option, or has a name.
  private func checkStream() {
    do throws(VidiconError) {
      let stream = try StreamOptions(parsing: self.text, defaults: StreamOptions())
      precondition(Self.isName(stream.name), "a name is part of a URL")
    } catch {
      precondition(error.exitStatus == 64 && !error.subject.isEmpty, "a wrong option is a usage error")
    }
  }

  /// A response is refused, or its body is the end of the text.
  private func checkResponse() {
    let bytes = Data(self.text.utf8)
    guard let response = LocalRequest.Response(parsing: bytes) else { return }
    precondition(bytes.suffix(response.body.count).elementsEqual(response.body), "the body is what follows the head")
    precondition(response.body.count + 13 <= bytes.count, "a head has a status line and an empty line")
  }

  /// The address of a server is refused, or written as it was read.
  private func checkAddress() {
    guard let address = ServerAddress(parsing: self.text) else { return }
    precondition(ServerAddress(parsing: address.text) == address, "an address is written and read")
  }

  /// The address of a WHIP server is refused, or has no rendition any more when it is written.
  private func checkPush() {
    // One that is written may be longer by a slash.
    guard self.text.utf8.count < PushTarget.maximumURLLength, let target = try? PushTarget(url: self.text),
      case .whip(let url, _) = target.destination
    else { return }
    let sent = try? PushTarget(url: url.address + url.target.text)
    precondition(sent?.destination == target.destination, "what is sent is written and read")
    precondition(sent?.rendition == RenditionName.main, "the server gets no rendition")
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") }
  }
}
