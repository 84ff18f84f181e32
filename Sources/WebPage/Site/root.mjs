// The root of the server: behind a reverse proxy it may be below a path, such as /cam/.

/** The path of the root at this browser, with a slash at the end. */
export const root = rootOf(import.meta.url);

/** The path of the root, of which the folder `_page` has the module with an address; "/" for a module that no server sent. */
export function rootOf(module) {
  const { protocol, pathname } = new URL("..", module);
  return protocol.startsWith("http") ? pathname : "/";
}

/** The URL of a path below the root, which may begin with a slash; a URL is unchanged. */
export function urlOf(path) {
  // Not against the base URL: that of a page opened with NAME:PASSWORD@ has credentials, with which fetch rejects a URL.
  // `location` has none, and the browser adds them by itself. The host stays, whatever the root begins with.
  const base = Object.assign(new URL(location.href), { pathname: root, search: "", hash: "" });
  return new URL(path.replace(/^\/+/, ""), base);
}

/** The path below a root, without slashes at its ends: of the page, unless another one is given. */
export function pathBelow(base = root, path = location.pathname) {
  return (path.startsWith(base) ? path.slice(base.length) : path).replace(/^\/+|\/+$/g, "");
}
