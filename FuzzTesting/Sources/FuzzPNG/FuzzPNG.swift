import FuzzEntry

@main
enum FuzzPNG {
  static func main() {
    fuzz(.png)
  }
}
