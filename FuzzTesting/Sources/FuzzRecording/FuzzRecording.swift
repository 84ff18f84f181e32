import FuzzEntry

@main
enum FuzzRecording {
  static func main() {
    fuzz(.recording)
  }
}
