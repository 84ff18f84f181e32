// swift-tools-version: 6.2

// Fuzz targets, one executable for each. Build and run one, from this folder, with what it finds going to FailCases:
//
//   swift build -c release --sanitize=fuzzer --product FuzzRTSP
//   mkdir -p .build/Corpus
//   .build/release/FuzzRTSP -max_total_time=120 -artifact_prefix=FailCases/FuzzRTSP/ .build/Corpus Seeds/FuzzRTSP
//
// SwiftPM leaves `main` to libFuzzer with this option. The unit tests replay Seeds and FailCases.

import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "FuzzTesting",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [
    .package(name: "vidicon", path: ".."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
  ],
  targets: [
    .executableTarget(
      name: "FuzzRTSP",
      dependencies: [
        .product(name: "RTSP", package: "vidicon"), .product(name: "Media", package: "vidicon"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      swiftSettings: settings)
  ]
)
