internal import CaptureDevices
internal import NIOCore

/// Checks of what the X server and ALSA return: the reply to a connection setup, and names of PCMs.
struct DeviceReplyFuzzCase {
  private let bytes: [UInt8]

  init(_ input: ByteBuffer) {
    self.bytes = Array(input.readableBytesView)
  }

  func run() {
    self.checkX11()
    self.checkPCM()
  }

  /// The reason of a refusal is one printable line.
  private func checkX11() {
    let head = Array(self.bytes.prefix(X11Setup.headLength))
    let length = X11Setup.reasonLength(head: head)
    guard case .refused(let reason)? = X11Setup.reply(parsing: self.bytes) else { return }
    guard let length else { preconditionFailure("a refusal has a head of X11") }
    precondition(reason.utf8.count <= length && reason.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
  }

  /// A name is refused, or is written so that it parses the same.
  private func checkPCM() {
    guard let name = PCMName(String(decoding: self.bytes, as: UTF8.self)) else { return }
    precondition(name.device >= 0)
    precondition(PCMName(name.text) == name, "what is written parses the same")
  }
}
