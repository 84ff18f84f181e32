import FuzzEntry

@main
enum FuzzJPEG {
  static func main() {
    fuzz(.jpeg)
  }
}
