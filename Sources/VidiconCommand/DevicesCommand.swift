import ArgumentParser
import HTTPServer
import Vidicon

/// `vidicon devices`: lists cameras, screens and microphones with what they can.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List cameras, screens and microphones, with their formats and controls.")

  @Flag(help: "As JSON, one object; docs/configuration.md describes it.")
  var json = false

  func run() async throws {
    let offer = SourceCatalog.all
    guard let devices = await offer.listDevices() else {
      throw Failure("a device does not answer; unplug it, or end the program that uses it")
    }
    if self.json {
      Terminal.print(json: DeviceList(.init(devices: devices, generators: offer.generators)))
    } else {
      for line in DeviceTable(devices).lines { Terminal.print(line) }
    }
  }
}
