import VidiconCommand

/// The executable `vidicon`. Its code lives in the library `VidiconCommand`, which tests and fuzz targets link.
@main
enum Main {
  static func main() async {
    await RootCommand.main()
  }
}
