import FuzzEntry

@main
enum FuzzEffects {
  static func main() {
    fuzz(.effects)
  }
}
