import FuzzEntry

@main
enum FuzzMP4 {
  static func main() {
    fuzz(.mp4)
  }
}
