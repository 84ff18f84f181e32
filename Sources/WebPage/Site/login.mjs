// The button and dialog to log in to control, and to end it.
//
// Over HTTP without TLS the server accepts passwords from its own machine only: the dialog then asks for the token, which ends
// with the server, and is no password that its owner uses elsewhere.

import { operatorToken, rejectOperatorToken, setOperatorToken } from "./operator-token.mjs";
import { request } from "./requests.mjs";

const element = (id) => document.getElementById(id);
/** Hints of the dialog, by the way in which a client can log in. */
const HINTS = {
  password: "Name and password of an operator, or no name and the token that the server shows in its terminal.",
  token: "The token that the server shows in its terminal. Passwords are accepted over HTTPS only.",
};

export class Login {
  constructor() {
    element("control").onclick = () => {
      if (operatorToken()) this.#end();
      else element("login").showModal();
    };
    element("login-cancel").onclick = () => element("login").close();
    element("login-form").onsubmit = (event) => {
      event.preventDefault();
      this.#begin();
    };
    element("login").addEventListener("close", () => {
      element("login-password").value = "";
      this.#showProblem("");
    });
  }

  /** The stream from the list of streams; null while it does not exist. */
  set stream(stream) {
    if (!stream) return;
    // A token that the server no longer knows; it was restarted, or the session was ended.
    if (operatorToken() && stream.role !== "operator") rejectOperatorToken();
    const hasToken = operatorToken() !== null;
    element("control").hidden = !hasToken && (stream.steerable || stream.login === "none")
      || stream.role === "operator" && !stream.steerable;
    write(element("control"), hasToken ? "End control" : "Log in to control");
    const acceptsPassword = stream.login === "password";
    element("login-name-field").hidden = !acceptsPassword;
    if (!acceptsPassword) element("login-name").value = "";
    write(element("login-hint"), HINTS[stream.login] ?? "");
    write(element("login-password-label"), acceptsPassword ? "Password or token" : "Token");
    element("login-clear").hidden = globalThis.isSecureContext !== false;
  }

  async #begin() {
    const [name, password] = [element("login-name").value.trim(), element("login-password").value];
    this.#showProblem("");
    try {
      if (name) {
        const { token, role } = await request("api/session", { json: { name, password }, as: "json" });
        if (role !== "operator") return this.#showProblem(`${name} has the viewer role; controlling needs the operator role.`);
        setOperatorToken(token);
      } else {
        // The other requests of the page send the token once it is accepted: each wrong one delays the next login.
        const token = password.trim() || null;
        const { role } = await request("api/session", { as: "json", cache: "no-store", token });
        if (role !== "operator") return this.#showProblem("This is not the token of an operator.");
        setOperatorToken(token);
      }
      element("login").close();
    } catch (error) {
      this.#showProblem(error.message);
    }
  }

  async #end() {
    try {
      await request("api/session", { method: "DELETE" });
    } catch {
      // The token is forgotten here; the session ends after twelve hours.
    }
    setOperatorToken(null);
  }

  #showProblem(problem) {
    write(element("login-problem"), problem);
    element("login-problem").hidden = !problem;
  }
}

function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
