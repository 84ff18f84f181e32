// Runs camera capture on commands, for tests that start it with simulated cameras (Tests/FakeCamera).
//
//   CameraProbe devices
//   CameraProbe play SPECIFICATION WIDTH HEIGHT RATE
//
// "play" reads one command per line: start, stop, keep COUNT (number of frames to hold; 0 releases all), controls,
// set NAME VALUE, keyframe, resources, cpu (milliseconds used), relation SPECIFICATION (of another capturer's device to this one's). It ends at the
// end of its input. Both print lines of words, as JSON strings where a word may contain spaces.

import Capture
import CaptureDevices
import Foundation
import Media
import NIOCore
import Synchronization
import TestSupport
import Threading

/// Writes a line without buffering.
func say(_ words: Any...) {
  FileHandle.standardOutput.write(Data((words.map { "\($0)" }.joined(separator: " ") + "\n").utf8))
}

/// The numbers of descriptors, threads and mapped camera buffers of this process.
func resources() -> String {
  let maps = (try? String(systemFile: "/proc/self/maps")) ?? ""
  let memories = maps.split(separator: "\n").count { $0.contains("fake camera") }
  func count(_ folder: String) -> Int { (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1 }
  return "\(count("/proc/self/fd")) \(count("/proc/self/task")) \(memories)"
}

/// Prints a camera's output.
final class Printer: VideoConsumer {
  let kept = Mutex<(count: Int, frames: [VideoFrame])>((0, []))

  func consume(_ frame: VideoFrame) {
    let latency = (StreamClock.system.now() - frame.timestamp).nanoseconds / 1000
    let format = frame.format
    say(
      "frame", frame.timestamp.nanoseconds / 1000, latency, number(in: frame), format.pixelFormat.rawValue,
      "\(format.width)x\(format.height)", frame.orientation.rawValue, bars(in: frame))
    self.kept.withLock { kept in
      if kept.frames.count < kept.count { kept.frames.append(frame) }
    }
  }

  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    guard case .h264(let h264) = description else { return say("sample of something else") }
    say(
      "sample", sample.presentationTime.nanoseconds / 1000, sample.isKeyframe ? "key" : "delta",
      sample.payload.readableBytes, "\(h264.width)x\(h264.height)", h264.sequenceParameterSet.count)
  }

  func captureSkipped(at timestamp: MediaTime) {
    say("skipped", timestamp.nanoseconds / 1000)
  }

  func captureEnded(_ error: VidiconError?) {
    say("ended", error.map { "\($0.code) \($0)" } ?? "without an error")
  }

  func captureFormatChanged(to format: VideoFormat) {
    say("format", "\(format.width)x\(format.height)", format.pixelFormat.rawValue)
  }
}

/// Luma, Cb and Cr of a pixel; red, green and blue of RGB formats.
func pixel(_ frame: VideoFrame, _ x: Int, _ y: Int) -> [Int] {
  func byte(_ plane: Int, _ offset: Int, _ y: Int) -> Int {
    frame.withPlane(plane) { Int($0[y * frame.format.bytesPerRow[plane] + offset]) }
  }
  return switch frame.format.pixelFormat {
  case .nv12: [byte(0, x, y), byte(1, x / 2 * 2, y / 2), byte(1, x / 2 * 2 + 1, y / 2)]
  case .i420: [byte(0, x, y), byte(1, x / 2, y / 2), byte(2, x / 2, y / 2)]
  case .yuyv: [byte(0, x * 2, y), byte(0, x / 2 * 4 + 1, y), byte(0, x / 2 * 4 + 3, y)]
  case .rgb24: (0..<3).map { byte(0, x * 3 + $0, y) }
  case .bgra: [2, 1, 0].map { byte(0, x * 4 + $0, y) }
  case .argb: [1, 2, 3].map { byte(0, x * 4 + $0, y) }
  }
}

/// The frame number encoded by the squares at the top.
func number(in frame: VideoFrame) -> Int {
  let side = frame.format.width / 16
  return (0..<16).reduce(0) { $0 << 1 | (pixel(frame, $1 * side + side / 2, side / 2)[0] > 128 ? 1 : 0) }
}

/// The samples at the centers of the eight bars near the bottom, as `a,b,c/a,b,c…`.
func bars(in frame: VideoFrame) -> String {
  (0..<8).map { bar in
    pixel(frame, (2 * bar + 1) * frame.format.width / 16, frame.format.height * 7 / 8)
      .map(String.init).joined(separator: ",")
  }.joined(separator: "/")
}

func json(_ value: String) -> String {
  let data = (try? JSONEncoder().encode(value)) ?? Data()
  return String(decoding: data, as: UTF8.self)
}

func say(_ control: DeviceControl) {
  let menu = control.menu.map { "\($0.value)=\($0.label)" }.joined(separator: ",")
  let flags = (control.isReadOnly ? "r" : "") + (control.isInactive ? "i" : "")
  say(
    "control", control.name, control.kind.rawValue, control.range.lowerBound, control.range.upperBound, control.step,
    control.defaultValue, control.value, json(menu), json(flags))
}

func listDevices() {
  for device in CameraDevices.devices() {
    say(
      "device", device.specification, device.position.rawValue, json(device.name), json(device.stableName),
      json(device.problem ?? ""))
    for format in device.formats {
      let rates =
        switch format.frameRates {
        case .discrete(let rates): rates.map(\.description).joined(separator: ",")
        case .range(let range): "\(range.lowerBound)-\(range.upperBound)"
        }
      say("offers", format.name, "\(format.width ?? 0)x\(format.height ?? 0)", rates)
    }
    for control in device.controls { say(control) }
  }
}

func play(_ text: String, width: Int, height: Int, rate: Int32) {
  let specification: CameraSpecification
  do throws(VidiconError) {
    specification = try CameraSpecification(parsing: text)
  } catch {
    return say("refused", error.code, error)
  }
  let (camera, printer) = (
    CameraCapturer(specification, width: width, height: height, frameRate: FrameRate(rate)), Printer()
  )
  while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    let began = StreamClock.system.now()
    do throws(VidiconError) {
      switch words.first {
      case "start":
        try camera.start(consumer: printer)
        let format = camera.format
        say(
          "started", format.pixelFormat.rawValue, "\(format.width)x\(format.height)", format.frameRate,
          format.colorMatrix, camera.position.rawValue)
      case "stop":
        camera.stop()
        say("stopped", (StreamClock.system.now() - began).nanoseconds / 1_000_000)
      case "keep":
        let count = Int(words[1]) ?? 0
        let released = printer.kept.withLock { kept in
          defer { kept = (count, []) }
          return kept.frames
        }
        say("released", released.count, released.isEmpty ? "" : bars(in: released[0]))
      case "controls": for control in camera.controls { say(control) }
      case "set":
        try camera.setControl(words[1], to: Int(words[2]) ?? 0)
        say("set", words[1])
      case "keyframe": camera.requestKeyframe()
      case "resources": say("resources", resources())
      case "cpu": say("cpu", Int(Double(clock()) * 1000 / Double(CLOCKS_PER_SEC)))
      case "relation":
        let other = CameraCapturer(try CameraSpecification(parsing: words[1]), width: width, height: height)
        say("relation", camera.relation(of: other))
      default: break
      }
    } catch {
      say("refused", error.code, error)
    }
    say("done", words.first ?? "")
  }
}

let arguments = CommandLine.arguments
switch arguments.count {
case 2 where arguments[1] == "devices": listDevices()
case 6 where arguments[1] == "play":
  play(arguments[2], width: Int(arguments[3]) ?? 0, height: Int(arguments[4]) ?? 0, rate: Int32(arguments[5]) ?? 0)
default:
  say("usage: CameraProbe devices | play SPECIFICATION WIDTH HEIGHT RATE")
  exit(64)
}
