import Media
import Testing

@Suite("Words of a shell")
struct StringShellWordTests {
  @Test(arguments: [
    ("/srv/a-b_c.yaml", "/srv/a-b_c.yaml"), ("a b", "'a b'"), ("", "''"), ("it's $HOME", "'it'\\''s $HOME'"),
  ])
  func `a path is one word of a shell`(text: String, word: String) {
    #expect(text.shellWord == word)
  }
}
