import ArgumentParser
import Capture
import Media
import MediaInput
import Recording
import StreamControl
import Streaming
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Passwords in messages of the program")
struct SecretsInMessagesTests {
  private static let secrets = ["Xq7/Zw9", "Xq7@Zw9", "Xq7#Zw9?Kp3"]

  private static func texts(_ secret: String) -> [String] {
    [
      "rtsp://anna:\(secret)@cam/live", "rtsp:/anna:\(secret)@cam/live", "anna:\(secret)@cam", "anna:\(secret)",
      "http://cam/x?token=\(secret)", "password=\(secret)", "htp://anna:\(secret)@cam/",
      "mic:anna:\(secret)@cam", "screen:anna:\(secret)@cam:0?x", "v4l2:cam?anna:\(secret)@cam",
    ]
      // With an at sign, what follows it is a host.
      + (secret.contains("@") ? [] : ["rtsp://anna:\(secret)"])
  }

  /// The message of a command line; nil for one that is accepted.
  private static func message(_ arguments: [String]) -> String? {
    do {
      guard let command = try RootCommand.parseAsRoot(["serve"] + arguments) as? ServeCommand else { return nil }
      _ = try ServeConfiguration(command)
      return nil
    } catch let failure as VidiconError {
      return failure.description
    } catch {
      return RootCommand.withoutSecrets(RootCommand.message(for: error), arguments: arguments)
    }
  }

  private static func expectHidden(_ secret: String, in message: String, _ comment: String) {
    #expect(!message.contains("Xq7") && !message.contains("Zw9"), "\(comment): \(message)")
  }

  @Test(arguments: [
    "--host", "--cors", "--behind-proxy", "--control", "--size", "--bitrate", "--name", "--stream", "--config",
    "--rtsp-port", "--whip-token",
    "--no-such-option",
  ])
  func `no option quotes a password that was given to it by mistake`(option: String) throws {
    for (index, secret) in Self.secrets.enumerated() {
      // Each text with one of the secrets: parsing a command line takes long.
      for text in Self.texts(secret).enumerated().filter({ $0.offset % 3 == index }).map(\.element) {
        let arguments = index == 0 ? ["\(option)=\(text)"] : [option, text]
        Self.expectHidden(secret, in: try #require(Self.message(arguments), "\(arguments)"), "\(arguments)")
      }
    }
  }

  @Test(arguments: [
    ["serve", "--user-file"], ["serve", "--tls-key", "k.pem", "--https-port", "0", "--tls-cert"], ["serve", "--mask"],
    ["serve", "--overlay"], ["serve", "--mask-anchors"], ["serve", "--recordings"],
    ["serve", "--config"], ["serve", "--snapshot-on"], ["record"], ["repair"],
  ])
  func `no option for a path quotes a password that was given to it by mistake`(command: [String]) async throws {
    // A recording's name without a folder would be used.
    let isName = command == ["record"]
    for text in ["rtsp:/anna:Xq7Zw9@cam/live", "rtsp://anna:Xq7Zw9@cam/live", "anna:Xq7Zw9/x.mp4"]
      + (isName ? [] : ["anna:Xq7Zw9"])
    {
      var arguments = command + [command.last == "--snapshot-on" ? "smile:\(text)" : text]
      if command.last == "--mask-anchors" { arguments += ["--mask", "x.png"] }
      if command[0] == "serve" { arguments += ["--rtsp-port", "0", "--http-port", "0", "--no-discovery"] }
      if command[0] != "repair" { arguments += ["--source", "bars", "--audio", "none", "--size", "64x48"] }
      let result = try await BuiltProgram("vidicon").run(arguments)
      #expect(result.status != 0)
      let errors = OutputLines(result.errors)
      #expect(!errors.own.isEmpty && !errors.text.contains("Xq7"), "\(arguments): \(errors.text)")
      #expect(!OutputLines(result.output).text.contains("Xq7"), "\(arguments)")
    }
  }

  @Test(arguments: ["rtsp:/anna:Xq7Zw9@cam/live", "rtsp://anna:Xq7Zw9@cam/live", "anna:Xq7Zw9/x.mp4"])
  func `a recording that cannot start quotes no password that was given as its name`(text: String) async throws {
    let stream = LiveStream("door", video: VideoSettings(width: 64, height: 48))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    // The error that "vidicon serve --record" reports before it goes on without a recording.
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern(text)))
    try await stream.start()
    let error = await #expect(throws: VidiconError.self) { try await recorder.start() }
    await stream.stop()
    #expect(error?.cause == "the folder does not exist")
    Self.expectHidden("Xq7Zw9", in: try #require(error).description, text)
  }

  @Test(arguments: ["--user", "--operator"])
  func `no part of a user is quoted`(option: String) throws {
    for text in ["Xq7", "Xq7:", ":Xq7", "", "Xq7@Zw9:"] {
      for arguments in [[option, text], ["\(option)=\(text)"], [option, "anna", text], [option, "-\(text)"]] {
        Self.expectHidden("Xq7", in: try #require(Self.message(arguments), "\(arguments)"), "\(arguments)")
      }
    }
    let twice = Self.message([option, "Xq7:a", option, "Xq7:b"])
    #expect(twice == "--user: two users have the same name; give each its own")
  }

  @Test func `no source quotes a password, valid or not`() {
    var count = 0
    for secret in Self.secrets {
      for text in Self.texts(secret) + ["file:http://anna:\(secret)@cam/a.mp4", "rtmp://cam/app/\(secret)"] {
        for isAudio in [false, true] {
          do throws(VidiconError) {
            if isAudio {
              _ = try SourceSpecification.Audio(parsing: text)
            } else if case .network(let address) = try SourceSpecification.Video(parsing: text) {
              Self.expectHidden(secret, in: address.description, text)
              count += 1
            }
          } catch {
            Self.expectHidden(secret, in: error.description, text)
            count += 1
          }
        }
      }
    }
    #expect(count > 30)
  }
}
