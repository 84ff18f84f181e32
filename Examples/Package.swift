// swift-tools-version: 6.2

// Programs that use Vidicon as a library, each one file. From the top folder:
//
//   swift run -c release --package-path Examples --scratch-path .build HelloCamera
//
// The build folder of the main package holds most of it already.

import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "vidicon", path: "..")],
  targets: ["HelloCamera", "DrawPixels", "PushFrames", "CustomCapturer", "CustomEffect", "MonitorAndControl"].map {
    .executableTarget(
      name: $0, dependencies: [.product(name: "Vidicon", package: "vidicon")], path: $0, swiftSettings: settings)
  }
)
