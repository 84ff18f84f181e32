import ArgumentParser
import ControlAPI
import Media
import StreamControl
import Vidicon

/// `vidicon devices`: lists cameras, screens and microphones with their formats and controls.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List cameras, screens and microphones, with their formats and controls.")

  @Flag(help: "As JSON, one object; docs/configuration.md describes it.")
  var json = false

  func run() async throws {
    let catalog = SourceCatalog.all
    guard let devices = await catalog.listDevices() else {
      throw VidiconError(
        .timedOut, subject: "devices", cause: "one of them does not respond",
        nextStep: "unplug it, or end the program that uses it")
    }
    if self.json {
      Terminal.print(json: DeviceList(devices, generators: catalog.generators))
      // Without a time limit: no stream runs that a slow reader could delay.
      LineWriter.standardOutput.flush(within: nil)
    } else {
      for line in DeviceTable(devices).lines { Terminal.print(line) }
    }
  }
}
