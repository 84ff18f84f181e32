import ArgumentParser
import Capture
import HTTPServer
import Vidicon

/// `vidicon devices`: lists cameras, screens and microphones with what they can.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List cameras, screens and microphones, with their formats and controls.")

  @Flag(help: "As JSON, one object; docs/configuration.md describes it.")
  var json = false

  /// A device that does not answer must not hold up the list for ever.
  private static let limit = Duration.seconds(20)

  func run() async throws {
    let offer = SourceOffer.all
    guard let devices = await offer.devices(within: Self.limit) else {
      throw Failure("a device does not answer; unplug it, or end the program that uses it")
    }
    if self.json {
      Terminal.print(json: DeviceList(.init(devices: devices, generators: offer.generators)))
    } else {
      for line in DeviceTable(devices).lines { Terminal.print(line) }
    }
  }
}
