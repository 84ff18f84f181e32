import Testing

@Suite("The repository")
struct RepositoryTests {
  @Test func `each target has a floor and imports only what stands below it`() throws {
    let rooms = try Repository.rooms()
    #expect(Set(rooms) == Set(Floor.rooms.map(\.key)))
    for room in rooms {
      let violations = try Repository.swiftFiles(in: "Sources/\(room)").flatMap {
        SourceRules.imports(of: $0, in: room)
      }
      #expect(violations == [])
    }
  }

  @Test func `pure targets read no clock, start nothing and touch no socket or file`() throws {
    let files = try Floor.rooms.filter { $0.value == .pure }.flatMap {
      try Repository.swiftFiles(in: "Sources/\($0.key)")
    }
    #expect(files.count > 200)
    #expect(files.flatMap(SourceRules.purity) == [])
  }

  @Test func `only the chain of effects releases frames, and encoders take no others`() throws {
    let files = try Repository.swiftFiles(in: "Sources")
    #expect(files.flatMap(SourceRules.releases) == [])
    // The rule sees the places that it is about.
    let names = files.filter { file in file.lines.contains { $0.code.has("notPrivate:") } }.map(\.path)
    #expect(names.count == 3, "\(names)")
  }

  @Test func `no file is longer than 600 lines`() throws {
    let files = try Repository.swiftFiles(in: "Sources", "Tests", "Examples", "FuzzTesting")
    #expect(files.count > 800)
    #expect(files.flatMap(SourceRules.length) == [])
  }

  @Test func `a disabled compiler check has a comment with the reason`() throws {
    let files = try Repository.swiftFiles(in: "Sources", "Tests", "Examples", "FuzzTesting")
    #expect(files.count > 800)
    #expect(files.flatMap(SourceRules.justifications) == [])
  }

  /// Every other place has a rendition, or asks for its name.
  @Test func `the name of the main rendition is written once`() throws {
    let files = try Repository.swiftFiles(in: "Sources")
    let places = files.filter { $0.strings.contains { $0.text == "main" } }.map(\.path)
    #expect(places == ["/Sources/Media/RenditionName.swift"])
  }

  @Test func `no test sleeps`() throws {
    let files = try Repository.swiftFiles(in: "Tests")
    #expect(files.count > 300)
    #expect(files.flatMap(SourceRules.sleeps) == [])
  }

  @Test func `every public declaration has a doc comment`() throws {
    let files = try Repository.swiftFiles(in: "Sources")
    #expect(files.count > 400)
    #expect(files.flatMap(SourceRules.documentation) == [])
  }

  @Test func `doc comments say more than the name`() throws {
    let files = try Repository.swiftFiles(in: "Sources", "Tests", "Examples", "Benchmarks")
    #expect(files.count > 800)
    #expect(files.flatMap(SourceRules.emptyDocumentation) == [])
  }

  @Test func `comments begin with what they are about or what is done, and pose no riddle`() throws {
    let files = try Repository.comments(
      in: "Sources", "Tests", "Examples", "FuzzTesting", "Benchmarks", "scripts", "docs", "Packaging", ".ci",
      "Package.swift")
    #expect(files.flatMap(SourceRules.firstWords) == [])
    // The rule sees the comments that it is about: more than half of those of today, in each language.
    for (ending, documentation, remarks) in [
      (".swift", 6500, 1200), (".c", 38, 79), (".h", 104, 14), (".mjs", 160, 60), (".py", 135, 66), (".css", 0, 7),
      (".sh", 0, 6), (".bash", 0, 4), ("/.ci/run", 0, 1), ("/Packaging/postinst", 0, 1),
    ] {
      let comments = files.filter { $0.path.hasSuffix(ending) }.flatMap(\.comments)
      #expect(comments.count { $0.opening == .documentation } >= documentation, "\(ending)")
      #expect(comments.count { $0.opening == .remark } >= remarks, "\(ending)")
    }
  }

  @Test(.enabled(if: Repository.isCheckout)) func `no generated file is committed`() throws {
    let paths = try Repository.trackedPaths()
    #expect(paths.contains("Package.swift"))
    #expect(paths.filter(Repository.isMadeByTools) == [])
  }
}
