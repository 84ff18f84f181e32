// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")

// Screens are captured from X11, which Apple's systems do not show theirs with.
let xcb: Target.Dependency = .target(name: "CXCB", condition: .when(platforms: [.linux]))

// The commit, which `vidicon --version` shows beside the number; scripts/commit prints it. Not `Context.gitInformation`, which is that of the last time
// that SwiftPM has read this file. Only the target CVersion is compiled again for another commit.
let commit = Context.environment["VIDICON_COMMIT"] ?? ""
let versionSettings: [CSetting] = commit.isEmpty ? [] : [.define("VIDICON_COMMIT", to: "\"\(commit)\"")]

let package = Package(
  name: "vidicon",
  platforms: [.macOS(.v15), .iOS(.v18)],
  // The promised libraries. What others declare is `package`, but for what `import Vidicon` re-exports from them.
  products: [
    .library(name: "Vidicon", targets: ["Vidicon"]),
    .library(name: "Media", targets: ["Media"]),
    .library(name: "Bitstreams", targets: ["Bitstreams"]),
    .library(name: "Containers", targets: ["Containers"]),
    .library(name: "RTP", targets: ["RTP"]),
    .library(name: "HLS", targets: ["HLS"]),
    .library(name: "Capture", targets: ["Capture"]),
    .library(name: "CaptureDevices", targets: ["CaptureDevices"]),
    .library(name: "Effects", targets: ["Effects"]),
    .executable(name: "vidicon", targets: ["VidiconMain"]),
    // For the package FuzzTesting only.
    .library(name: "_FuzzBodies", targets: ["FuzzBodies"]),
    // For scripts/api-check only, which compares libraries: the other targets of which `import Vidicon` re-exports something.
    .library(
      name: "_Reexported",
      targets: [
        "Authentication", "ControlAPI", "Discovery", "HLSServer", "HTTPServer", "MediaInput", "Pushing", "RTMP",
        "RTMPServer", "RTSPServer", "Recording", "Serving", "StreamControl", "Streaming", "Threading", "WebRTC",
        "WebRTCServer",
      ]),
    // For CaptureDevicesTests only: ALSA loads it.
    .library(name: "_ALSATestDevice", type: .dynamic, targets: ["ALSATestDevice"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
  ],
  targets: [
    // The pure floor: bytes and state machines. No socket, clock, task or file.
    .target(name: "Cryptography", dependencies: ["CCryptography"], swiftSettings: settings),
    .target(name: "Media", dependencies: [nioCore], swiftSettings: settings),
    .target(name: "Bitstreams", dependencies: ["Media", nioCore], swiftSettings: settings),
    .target(name: "Containers", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .target(name: "HLS", dependencies: ["Bitstreams", "Containers", "Media", nioCore], swiftSettings: settings),
    .target(
      name: "Pushing", dependencies: ["Media", "Authentication", "RTMP", "WebRTC", nioCore],
      swiftSettings: settings),
    .target(name: "RTP", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .target(name: "Authentication", dependencies: ["Cryptography", "Media"], swiftSettings: settings),
    .target(name: "RTSP", dependencies: ["Authentication", "Media", "RTP", nioCore], swiftSettings: settings),
    .target(
      name: "RTMP", dependencies: ["Authentication", "Bitstreams", "Containers", "Media", nioCore],
      swiftSettings: settings),
    .target(
      name: "WebRTC",
      dependencies: ["Authentication", "Bitstreams", "Cryptography", "Media", "RTP", nioCore], swiftSettings: settings),
    .target(
      name: "WebPage",
      dependencies: ["CDocuments", "Cryptography", "Media", nioCore],
      exclude: ["Site"], swiftSettings: settings),

    // Engines: threads, codecs, devices.
    .target(name: "Libc", swiftSettings: settings),
    .target(name: "Threading", dependencies: ["Libc", "Media", "CSystemCalls"], swiftSettings: settings),
    .target(
      name: "Capture", dependencies: ["Libc", "Media", "Threading", "CCapture"], swiftSettings: settings),
    .target(
      name: "Codecs", dependencies: ["Media", "Bitstreams", "CLibav", "CYUV", "CCapture", nioCore],
      swiftSettings: settings),
    .target(
      name: "CaptureDevices",
      dependencies: [
        "Libc", "Media", "Bitstreams", "Threading", "Capture", "Codecs", "CLibav", "CYUV", "CCapture", "CV4L2", nioCore,
        xcb,
        .target(name: "CALSA", condition: .when(platforms: [.linux])),
      ], swiftSettings: settings),
    .target(
      name: "MediaInput",
      dependencies: [
        "Libc", "Media", "Authentication", "Bitstreams", "Threading", "RTP", "RTSP", "Capture", "Codecs",
        "CConnectGuard",
        "CLibav", nioCore,
      ],
      swiftSettings: settings),
    .target(name: "Inference", dependencies: ["Media", "CInference"], swiftSettings: settings),
    .target(
      name: "Effects",
      dependencies: [
        "Libc", "Media", "Threading", "Codecs", "Cryptography", "Inference", "CEffects", "CInference", "CYUV",
      ],
      swiftSettings: settings),
    .target(
      name: "Streaming",
      dependencies: [
        "Libc", "Media", "Bitstreams", "Threading", "Capture", "Codecs", "Effects", "CYUV", "CCapture", nioCore,
      ],
      swiftSettings: settings),
    .target(
      name: "Recording",
      dependencies: [
        "Libc", "Media", "Bitstreams", "Containers", "Threading", "CSystemCalls", "Effects", "Streaming", nioCore,
      ],
      swiftSettings: settings),
    .target(
      name: "StreamControl",
      dependencies: [
        "Libc", "Media", "Authentication", "Pushing", "Threading", "Capture", "MediaInput", "Effects", "Streaming",
        "Recording",
      ],
      swiftSettings: settings),

    // Edges: sockets, and the program.
    .target(
      name: "Serving",
      dependencies: [
        "Libc", "Media", "Authentication", "Pushing", "Streaming", "Threading", "CSystemCalls", nioCore, nioPosix,
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "RTSPServer",
      dependencies: [
        "Libc", "Media", "Authentication", "Serving", "MediaInput", "Threading", "RTP", "RTSP", "Streaming",
        "CDatagrams", nioCore, nioPosix,
      ], swiftSettings: settings),
    .target(
      name: "RTMPServer",
      dependencies: [
        "Media", "Authentication", "Serving", "MediaInput", "RTMP", "Streaming", "Threading", nioCore, nioPosix,
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "WebRTCServer",
      dependencies: [
        "Media", "Authentication", "Bitstreams", "Codecs", "Libc", "Serving", "MediaInput", "RTP", "Streaming",
        "Threading", "WebRTC", "CDatagrams", "CDTLS", nioCore, nioPosix,
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "HTTPServer",
      dependencies: [
        "Libc", "Media", "Authentication", "Cryptography", "Serving", "Threading", "CSystemCalls", "CZlib", nioCore,
        nioPosix,
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdHTTP2", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "HLSServer",
      dependencies: [
        "Media", "Authentication", "HLS", "HTTPServer", "Threading", "Streaming", nioCore, nioPosix,
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),
    .target(
      name: "ControlAPI",
      dependencies: [
        "Media", "Authentication", "Bitstreams", "Cryptography", "Serving", "Threading", "Capture", "Effects", "HLS",
        "HLSServer",
        "HTTPServer", "Streaming", "Pushing", "Recording", "StreamControl", "CDocuments", nioCore, nioPosix,
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], exclude: ["Documents/openapi.json"], swiftSettings: settings),
    .target(
      name: "Discovery", dependencies: ["Libc", "Media", "Threading", "CDNSSD", "CDiscovery", "CQREncode", nioCore],
      swiftSettings: settings,
      linkerSettings: [.linkedLibrary("dns_sd", .when(platforms: [.linux]))]),
    .target(
      name: "Vidicon",
      dependencies: [
        "Authentication", "Serving", "Media", "Threading", "Capture", "CaptureDevices", "MediaInput",
        "Effects", "Streaming", "Recording", "StreamControl", "RTSPServer", "RTMPServer", "HTTPServer", "HLSServer",
        "ControlAPI", "Discovery", "Pushing", "RTMP", "WebPage", "WebRTC", "WebRTCServer", nioCore,
        nioPosix,
      ],
      swiftSettings: settings),
    .target(
      name: "VidiconCommand",
      dependencies: [
        "Vidicon", "Authentication", "Serving", "Media", "Threading", "Capture", "CaptureDevices",
        "MediaInput", "Bitstreams", "Containers", "HLS", "RTMP", "RTP", "RTSP", "WebRTC", "WebRTCServer",
        "Codecs",
        "Effects", "Pushing",
        "Streaming", "Recording", "StreamControl", "RTSPServer", "HTTPServer", "ControlAPI", "Discovery",
        "CSystemCalls", "CVersion", "CCapture",
        "Libc",
        "Yams", nioCore, nioPosix,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ], swiftSettings: settings),
    .executableTarget(name: "VidiconMain", dependencies: ["VidiconCommand"], swiftSettings: settings),

    // Code that Swift cannot express: pixel loops that must be fast in debug builds too, system calls its modules lack,
    // macros of libraries, and files that are part of the program.
    .target(name: "CCapture"),
    .target(name: "CConnectGuard"),
    .target(name: "CCryptography", dependencies: ["COpenSSL"]),
    .target(name: "CDatagrams"),
    .target(name: "CDiscovery"),
    .target(name: "CDTLS", dependencies: ["COpenSSL"]),
    .target(name: "CEffects"),
    .target(name: "CDocuments"),
    .target(name: "CSystemCalls"),
    .target(name: "CV4L2"),
    .target(name: "CVersion", cSettings: versionSettings),
    .target(name: "CInference"),

    // Libraries of the system.
    .systemLibrary(
      name: "CLibav", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libswscale-dev", "libswresample-dev"]), .brew(["ffmpeg"])]),
    .systemLibrary(name: "CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    // Without pkg-config, whose flags for this one SwiftPM warns of at each build.
    .systemLibrary(name: "CDNSSD", providers: [.apt(["libavahi-compat-libdnssd-dev"])]),
    .systemLibrary(name: "CQREncode", providers: [.apt(["libqrencode-dev"]), .brew(["qrencode"])]),
    // Without pkg-config, which knows one library at a time; the module names all.
    .systemLibrary(
      name: "CXCB",
      providers: [
        .apt([
          "libxcb1-dev", "libxcb-composite0-dev", "libxcb-damage0-dev", "libxcb-randr0-dev", "libxcb-shm0-dev",
          "libxcb-xfixes0-dev",
        ])
      ]),
    .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"]), .brew(["libyuv"])]),

    // Shared by the tests: waits with a time limit, consumers that collect, media made by ffmpeg, a client of Digest.
    .target(
      name: "TestSupport", dependencies: ["Authentication", "Capture", "Media", "Threading", nioCore],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "CryptographyTests", dependencies: ["Cryptography", "TestSupport"], swiftSettings: settings),
    .testTarget(name: "MediaTests", dependencies: ["Media"], swiftSettings: settings),
    .testTarget(name: "BitstreamsTests", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(
      name: "ContainersTests", dependencies: ["Containers", "Bitstreams", "Media", "TransportStreams", nioCore],
      swiftSettings: settings),
    .testTarget(name: "RTPTests", dependencies: ["RTP", "Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(
      name: "AuthenticationTests", dependencies: ["Authentication", "Media", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "RTSPTests", dependencies: ["RTSP", "Authentication", "Media", "RTP", "TestSupport", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "RTMPTests",
      dependencies: ["RTMP", "Authentication", "Bitstreams", "Media", "TestSupport", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "WebRTCTests",
      dependencies: [
        "WebRTC", "WebRTCPeers", "Authentication", "Media", "RTP", "TestSupport", nioCore,
      ], swiftSettings: settings),
    // A client of WebRTC without cryptography, for tests over virtual time.
    .target(
      name: "WebRTCPeers",
      dependencies: ["WebRTC", "Authentication", "Media", "RTP", "TestSupport", nioCore],
      path: "Tests/WebRTCPeers", swiftSettings: settings),
    // Sessions under bad networks by hundreds of seeds: EndToEndTests run its release build.
    .executableTarget(
      name: "SessionProbe", dependencies: ["WebRTCPeers"], path: "Tests/SessionProbe", swiftSettings: settings),
    .testTarget(
      name: "WebRTCServerTests",
      dependencies: [
        "WebRTCServer", "WebRTC", "WebRTCPeers", "Authentication", "CSRTP", "Capture", "Media", "MediaInput", "Pushing",
        "RTP", "Serving", "Streaming", "TestSupport", "Threading", nioCore, nioPosix,
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: settings),
    // Another implementation of SRTP, for WebRTCServerTests.
    .target(name: "CSRTP", path: "Tests/CSRTP"),
    .testTarget(
      name: "HLSTests", dependencies: ["HLS", "HLSRules", "Containers", "Media", "TransportStreams", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "PushingTests",
      dependencies: ["Pushing", "Authentication", "Media", "RTMP", "TestSupport", "WebRTC", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "ThreadingTests", dependencies: ["Threading", "TestSupport", "Media"], swiftSettings: settings),
    .testTarget(
      name: "CaptureTests", dependencies: ["Capture", "Media", "TestSupport", "Threading"], swiftSettings: settings),
    .testTarget(
      name: "CaptureDevicesTests",
      dependencies: [
        "CaptureDevices", "ALSATestDevice", "CameraProbe", "Capture", "Codecs", "FakeCamera", "Media",
        "StreamControl", "SwitchProbe",
        "TestSupport", "Threading", nioCore, xcb,
      ], swiftSettings: settings),
    .testTarget(
      name: "MediaInputTests",
      dependencies: [
        "MediaInput", "Bitstreams", "CLibav", "Capture", "Codecs", "Libc", "Media", "RTP", "TestSupport", "Threading",
        "TransportStreams", nioCore,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "StreamControlTests",
      dependencies: [
        "StreamControl", "Capture", "CaptureDevices", "Effects", "Libc", "Media", "MediaInput", "Recording",
        "Streaming",
        "TestSupport", "Threading",
      ],
      swiftSettings: settings),
    // An audio device that fails on demand, for CaptureDevicesTests.
    .target(
      name: "ALSATestDevice", path: "Tests/ALSATestDevice", exclude: ["asound.conf"],
      linkerSettings: [.linkedLibrary("asound", .when(platforms: [.linux]))]),
    // Uses cameras that are not there, for CaptureDevicesTests: a library that is loaded before it answers for them.
    .executableTarget(
      name: "CameraProbe",
      dependencies: ["Capture", "CaptureDevices", "Media", "TestSupport", "Threading", nioCore],
      path: "Tests/CameraProbe",
      swiftSettings: settings),
    .target(
      name: "FakeCamera", dependencies: ["TestSupport"], path: "Tests/FakeCamera", exclude: ["Library"],
      swiftSettings: settings),
    // Files whose system calls fail, for RecordingTests and EndToEndTests: a preloaded library with a journal.
    .target(
      name: "FaultyDisk", dependencies: ["Containers", "Media", "TestSupport", nioCore], path: "Tests/FaultyDisk",
      exclude: ["Library"],
      swiftSettings: settings),
    .testTarget(
      name: "CodecsTests",
      dependencies: [
        "Codecs", "Bitstreams", "CCapture", "CLibav", "Media", "TestSupport", nioCore,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "InferenceTests", dependencies: ["Inference", "Media", "TestSupport"], exclude: ["Goldens"],
      swiftSettings: settings),
    .testTarget(
      name: "EffectsTests", dependencies: ["CEffects", "Codecs", "Effects", "Inference", "Media", "TestSupport"],
      exclude: ["Labels"], swiftSettings: settings),
    .testTarget(
      name: "StreamingTests",
      dependencies: [
        "Streaming", "SwitchProbe", "TestSupport", "Capture", "Codecs", "Effects", "Media", "Threading", nioCore,
      ],
      swiftSettings: settings),
    // Measuring programs, for Benchmarks/run: they convert frames, mux, run models, apply effects to faces.
    .executableTarget(
      name: "ConvertBenchmark", dependencies: ["Streaming", "Media", "CYUV"], path: "Benchmarks/Convert",
      swiftSettings: settings),
    .executableTarget(
      name: "MuxBenchmark", dependencies: ["Codecs", "Containers", "Media", nioCore], path: "Benchmarks/Mux",
      swiftSettings: settings),
    .executableTarget(
      name: "InferenceBenchmark", dependencies: ["Inference"], path: "Benchmarks/Inference", swiftSettings: settings),
    .executableTarget(
      name: "FacesBenchmark", dependencies: ["CAllocations", "Effects", "Media"], path: "Benchmarks/Faces",
      swiftSettings: settings),
    // Counts heap allocations of the program that it is linked into.
    .target(name: "CAllocations", path: "Benchmarks/CAllocations"),
    // Switches sources many times, for StreamingTests.
    .executableTarget(
      name: "SwitchProbe",
      dependencies: ["Streaming", "Capture", "CaptureDevices", "StreamControl", "Media", "TestSupport", "Threading"],
      path: "Tests/SwitchProbe",
      swiftSettings: settings),
    .testTarget(
      name: "RecordingTests",
      dependencies: [
        "Recording", "RecordingProbe", "FaultyDisk", "TestSupport", "Containers", "Capture", "Codecs", "Effects",
        "Streaming",
        "Media",
        "Threading", nioCore,
      ],
      swiftSettings: settings),
    // Records until it is killed, for RecordingTests.
    .executableTarget(
      name: "RecordingProbe",
      dependencies: ["Recording", "Capture", "Codecs", "Streaming", "Media", "Threading", nioCore],
      path: "Tests/RecordingProbe", swiftSettings: settings),
    // Records without a stream, for Benchmarks.
    .executableTarget(
      name: "RecordingMeter", dependencies: ["Recording", "Codecs", "Streaming", "Media", nioCore],
      path: "Benchmarks/RecordingMeter", swiftSettings: settings),
    // Searches frames for faces as a private stream does, for Benchmarks.
    .executableTarget(
      name: "PrivacyMeter", dependencies: ["Codecs", "Effects", "Media"], path: "Benchmarks/PrivacyMeter",
      swiftSettings: settings),
    .testTarget(
      name: "ServingTests",
      dependencies: [
        "Serving", "Authentication", "Capture", "Libc", "Media", "Streaming", "TestSupport", "Threading", nioCore,
        nioPosix,
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "TransportStreams", dependencies: ["Containers", "Media", nioCore], path: "Tests/TransportStreams",
      swiftSettings: settings),
    .target(name: "COffload", path: "Tests/COffload"),
    .testTarget(
      name: "RTSPServerTests",
      dependencies: [
        "RTSPServer", "Authentication", "Capture", "CDatagrams", "COffload", "Libc", "Serving", "MediaInput", "RTP",
        "RTSP", "Media", "Streaming", "TestSupport", "Threading", nioCore, nioPosix,
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: settings),
    .testTarget(
      name: "RTMPServerTests",
      dependencies: [
        "RTMPServer", "Authentication", "Capture", "Containers", "Libc", "Media", "MediaInput", "Pushing", "RTMP",
        "Serving", "Streaming", "TestSupport", "Threading", nioCore, nioPosix,
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .testTarget(
      name: "DiscoveryTests", dependencies: ["Discovery", "CDiscovery", "Media", "Threading"], swiftSettings: settings),
    .testTarget(
      name: "HTTPServerTests",
      dependencies: [
        "HTTPServer", "HLSServer", "ControlAPI", "TestSupport", "Authentication", "Capture", "Cryptography", "Serving",
        "Effects", "HLS", "Media", "Pushing", "Recording", "StreamControl", "Streaming", "Threading", nioCore, nioPosix,
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .testTarget(
      name: "WebPageTests", dependencies: ["WebPage", nioCore], exclude: ["JavaScript"], swiftSettings: settings),
    .testTarget(
      name: "VidiconTests",
      dependencies: [
        "Vidicon", "ControlAPI", "Serving", "HTTPServer", "Media", "RTMP", "RTSP", "RTSPServer", "Streaming",
        "TestSupport", nioCore, nioPosix,
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "VidiconCommandTests",
      dependencies: [
        "VidiconCommand", "Vidicon", "TestSupport", "Authentication", "Capture", "CaptureDevices", "Serving",
        "MediaInput", "Effects", "ControlAPI", "HLS", "HTTPServer", "Pushing", "RTMP", "RTP", "RTSP", "Recording",
        "StreamControl", "Streaming", "Media", "Threading", "WebRTC", nioCore,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),

    // Bodies of the fuzz targets: fed by FuzzTesting, replayed by a unit test.
    .target(
      name: "FuzzBodies",
      dependencies: [
        "Authentication", "Bitstreams", "CaptureDevices", "Codecs", "Containers", "Effects", "HLS", "HLSRules",
        "ControlAPI", "HTTPServer", "Inference", "Media", "MediaInput", "Pushing", "RTMP", "RTP", "RTSP",
        "Recording", "StreamControl", "VidiconCommand", "WebRTC", "WebRTCPeers", "WebRTCServer", "CV4L2", "Capture",
        nioCore, .product(name: "HTTPTypes", package: "swift-http-types"), "TransportStreams",
      ],
      path: "Tests/FuzzBodies", swiftSettings: settings),
    .testTarget(name: "FuzzBodiesTests", dependencies: ["FuzzBodies", nioCore], swiftSettings: settings),

    // The rules of HLS, checked on playlists as text: of the machine in unit tests, of a live server from end to end.
    .target(name: "HLSRules", path: "Tests/HLSRules", swiftSettings: settings),

    // Rules for the sources as a whole: floors, purity, sizes, reasons.
    .testTarget(name: "RepositoryTests", swiftSettings: settings),

    // Real players against the built program.
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "Containers", "Discovery", "FakeCamera", "FaultyDisk", "HLSRules", "TestSupport", "TransportStreams", nioCore,
      ],
      exclude: ["Clients"],
      swiftSettings: settings),
  ]
)

// `scripts/test ROOM` builds the tests of the named rooms only: VIDICON_TESTS=RTPTests,RTSPTests.
if let tests = Context.environment["VIDICON_TESTS"].map({ $0.split(separator: ",").map(String.init) }) {
  package.targets.removeAll { $0.type == .test && !tests.contains($0.name) }
}
