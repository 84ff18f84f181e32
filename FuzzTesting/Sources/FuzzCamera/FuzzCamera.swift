import FuzzEntry

@main
enum FuzzCamera {
  static func main() {
    fuzz(.camera)
  }
}
