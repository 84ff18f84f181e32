import FuzzEntry

@main
enum FuzzRTMP {
  static func main() {
    fuzz(.rtmp)
  }
}
