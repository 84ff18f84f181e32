import FuzzEntry

@main
enum FuzzRTSP {
  static func main() {
    fuzz(.rtsp)
  }
}
